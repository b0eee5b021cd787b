// Tokens of a text in columns, and what follows from them: drawn items, words, statistics.

// Whitespace as in Python's str.split() and in the evaluation.
const SPACE = "\\u0009-\\u000d\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const WORD = new RegExp(`[^${SPACE}]+`, "g");
const encoder = new TextEncoder();

export function wellFormed(text) {
  return text.toWellFormed ? text.toWellFormed() : text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

export const byteLength = (text) => encoder.encode(text).length;
export const bytesOf = (text) => [...encoder.encode(text)];

// Whitespace words: starts and ends.
export function findWords(text) {
  const starts = [], ends = [];
  for (const match of text.matchAll(WORD)) {
    starts.push(match.index);
    ends.push(match.index + match[0].length);
  }
  return { starts, ends, length: starts.length };
}

// A cut lists the items to draw: each is a token, or a character that several byte tokens form. `starts` and `ends` are
// their offsets, `first` is the index of their first token. `ids` is null while the slider is dragged.
export function cutOf(lane) {
  const { ids, lengths, gaps } = lane;
  const isByte = new Set(lane.bytes);
  const starts = [], ends = [], first = [];
  let at = 0, open = false;
  for (let i = 0; i < ids.length; i++) {
    const start = at + (gaps ? gaps[i] : 0), end = start + lengths[i];
    // Byte tokens have no width, except the last one of a character; other libraries give each the whole character.
    const inside = open || (starts.length > 0 && start < ends[ends.length - 1] && lengths[i] > 0);
    if (inside) ends[ends.length - 1] = Math.max(ends[ends.length - 1], end);
    else {
      starts.push(start);
      ends.push(end);
      first.push(i);
    }
    open = lengths[i] === 0 && isByte.has(ids[i]);
    at = end;
  }
  return { starts, ends, first, ids, tokens: ids.length, isByte, pieces: lane.pieces, unknown: new Set(lane.unknown) };
}

// The same from `joins` (see docs/playground.md) at one vocabulary size.
export function cutAt(cuts, length, size) {
  const { joins } = cuts;
  const starts = [], ends = [], first = [];
  const { inner, inner_joins: innerJoins } = cuts;
  let tokens = 0, next = 0;
  const put = (start, end) => {
    starts.push(start);
    ends.push(end);
    first.push(tokens);
    tokens++;
    for (; next < inner.length && inner[next] < end; next++) if (size < innerJoins[next]) tokens++;
  };
  let start = 0;
  for (let at = 0; at < length; at++) {
    const join = joins[at];
    if (join < 0 ? size >= -join : size < join) {
      put(start, at);  // at 0: the dummy prefix, which has no width
      start = at;
    }
  }
  if (length) put(start, length);
  return { starts, ends, first, ids: null, tokens, isByte: null, pieces: null, unknown: new Set() };
}

export const tokensOf = (cut, i) => (i + 1 < cut.first.length ? cut.first[i + 1] : cut.tokens) - cut.first[i];

// For each word its boundaries (offsets inside the word) and its number of tokens. Kept with the cut: the statistics
// and the list of words both need it.
export function wordCuts(cut, words) {
  if (cut.words === words) return cut.wordCuts;
  const result = new Array(words.length);
  let i = 0;
  for (let w = 0; w < words.length; w++) {
    const start = words.starts[w], end = words.ends[w];
    while (i < cut.starts.length && cut.ends[i] <= start) i++;
    const boundaries = [], perPart = [];
    let tokens = 0;
    for (let j = i; j < cut.starts.length && cut.starts[j] < end; j++) {
      if (cut.starts[j] > start) boundaries.push(cut.starts[j] - start);
      perPart.push(tokensOf(cut, j));
      tokens += tokensOf(cut, j);
    }
    result[w] = { boundaries, tokens, perPart };
  }
  Object.assign(cut, { words, wordCuts: result });
  return result;
}

export function statistics(cut, words, bytes) {
  let continued = 0;
  for (const word of wordCuts(cut, words)) if (word.tokens > 1) continued++;
  return {
    tokens: cut.tokens,
    perWord: cut.tokens / words.length,
    continued: continued / words.length,
    bytesPerToken: bytes / cut.tokens,
  };
}

// The items that overlap the characters from `start` to `end`: the first, and one past the last.
export function overlapping(cut, start, end) {
  let low = 0, high = cut.starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cut.ends[middle] <= start) low = middle + 1;
    else high = middle;
  }
  let last = low;
  while (last < cut.starts.length && cut.starts[last] < end) last++;
  return [low, last];
}
