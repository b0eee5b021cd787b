// Sample texts: of languages, for a playground without a study, and texts that are hard to tokenize.

export const LANGUAGE_SAMPLES = [
  { name: "sv", title: "Swedish", language: "sv", text: `Den gamla fyren på udden lyser fortfarande varje kväll, fast ingen längre bor där. Förr gick fyrvaktaren upp för de hundratjugo trappstegen med fotogen i hinken; nu räcker det med en strömbrytare på fastlandet. När dimman rullar in hörs ändå mistluren, dov och tålmodig, som om någon fortfarande väntade på fiskebåtarna.` },
  { name: "en", title: "English", language: "en", text: `The old lighthouse on the point still burns every evening, although nobody lives there any more. The keeper used to climb its hundred and twenty steps with a bucket of paraffin; now a switch on the mainland is enough. When the fog rolls in you can still hear the horn, low and patient, as if someone were waiting for the fishing boats.` },
  { name: "no", title: "Norwegian", language: "no", text: `Det gamle fyret på odden lyser fortsatt hver kveld, selv om ingen bor der lenger. Før gikk fyrvokteren opp de hundre og tjue trinnene med parafin i bøtta; nå holder det med en bryter på fastlandet. Når tåka siger inn, hører man likevel luren, dyp og tålmodig, som om noen ennå ventet på fiskebåtene.` },
  { name: "da", title: "Danish", language: "da", text: `Det gamle fyrtårn på odden lyser stadig hver aften, selv om ingen længere bor der. Førhen gik fyrpasseren op ad de hundrede og tyve trin med petroleum i spanden; nu er en kontakt på fastlandet nok. Når tågen ruller ind, kan man stadig høre hornet, dybt og tålmodigt, som om nogen ventede på fiskerbådene.` },
  { name: "is", title: "Icelandic", language: "is", text: `Gamli vitinn á tanganum lýsir enn á hverju kvöldi þótt enginn búi þar lengur. Áður gekk vitavörðurinn upp hundrað og tuttugu þrep með steinolíu í fötunni; nú dugar rofi uppi á landi. Þegar þokan læðist inn heyrist samt í lúðrinum, djúpum og þolinmóðum, eins og einhver bíði enn eftir fiskibátunum.` },
  { name: "code", title: "Python", language: "code", text: `from collections import Counter

def most_frequent(words: list[str], n: int = 10) -> list[tuple[str, int]]:
    """The n most frequent words, the more frequent first."""
    counts = Counter(word.lower() for word in words if word)
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:n]

if __name__ == "__main__":
    for word, count in most_frequent(open("book.txt").read().split()):
        print(f"{count:>8,}  {word}")
` },
];

export const SPECIAL_SAMPLES = [
  { name: "numbers", title: "Numbers", language: "numbers", text: `1 12 123 1234 12345 123456 1234567890
3.14159265358979 2,718281828 1 000 000 6.022e23 -40 °C = -40 °F
2026-11-16 23:59:59 +46 8 123 456 78 192.168.0.1 0xDEADBEEF
٠١٢٣٤٥٦٧٨٩ ½ ⅓ ² ₂ Ⅻ 100 % 7/8` },
  { name: "emoji", title: "Emoji and scripts", language: "emoji", text: `😀 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇸🇪🇳🇴🇩🇰🇮🇸 ❤️ 1️⃣
naïve café — e\u0301 and é look alike; x̄, ñ, Å (A\u030A), ﬁ
שלום עולם، مرحبا بالعالم، नमस्ते दुनिया, 你好，世界, こんにちは世界, 안녕하세요` },
  { name: "indentation", title: "Indentation", language: "indentation", text: `class Tree:
    def walk(self):
        for child in self.children:
            if child.is_leaf:
                yield child
            else:
                yield from child.walk()

\tone tab
\t\ttwo tabs
  two spaces
   three spaces
                        twenty-four spaces
                                        forty spaces
` },
];
