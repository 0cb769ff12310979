/** Says which step is being done, every ten seconds that it goes on, and how long it took. */

const EVERY_MS = 10_000;

/**
 * @template T
 * @param {string} title
 * @param {(progress: { detail(text: string): void }) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work, out = process.stderr) {
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1_000);
  let detail = '';
  out.write(`${title} …\n`);
  // Work without details is npm's or uv's: on a terminal they draw their own display.
  const tell = () => {
    if (detail || !out.isTTY) out.write(`  … ${seconds()} s${detail && ` · ${detail.slice(0, 120)}`}\n`);
  };
  const timer = setInterval(tell, EVERY_MS);
  let mark = '✗';
  try {
    const result = await work({ detail: (text) => (detail = text) });
    mark = '✓';
    return result;
  } finally {
    clearInterval(timer);
    out.write(`${mark} ${title} (${seconds()} s)\n`);
  }
}
