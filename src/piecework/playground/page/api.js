// Requests to the server: JSON both ways; errors carry a message for the person.

export async function ask(path, content) {
  let response;
  try {
    response = await fetch(`/api/${path}`, content === undefined ? {} : {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(content),
    });
  } catch {
    throw new Error("no answer from the playground; is it still running in the terminal?");
  }
  let answer;
  try {
    answer = await response.json();
  } catch {
    throw new Error(`invalid answer (status ${response.status})`);
  }
  if (!response.ok) throw new Error(answer.error ?? `status ${response.status}`);
  return answer;
}

// Runs a task one at a time. Calls during a run are merged into one more run, with the latest arguments.
export function latest(task) {
  let running = false, waiting = null;
  return async function run(...asked) {
    if (running) {
      waiting = asked;
      return;
    }
    running = true;
    try {
      await task(...asked);
    } finally {
      running = false;
      if (waiting) {
        const next = waiting;
        waiting = null;
        run(...next);
      }
    }
  };
}

export function debounce(task, milliseconds) {
  let timer = 0;
  return (...asked) => {
    clearTimeout(timer);
    timer = setTimeout(() => task(...asked), milliseconds);
  };
}
