/** Says what is being done: one live line on a terminal, plain lines in a log. */
import { stripVTControlCharacters } from 'node:util';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 120;
const PLAIN_EVERY_MS = 10_000;

/**
 * Shows `title` while `work` runs, and how long it took.
 * @template T
 * @param {string} title
 * @param {(progress: { detail(text: string): void }) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work, out = process.stderr) {
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1_000);
  let detail = '';
  let frame = 0;
  const live = out.isTTY === true && process.env.CI === undefined;
  const draw = () => {
    frame += 1;
    const text = `${FRAMES[frame % FRAMES.length]} ${title} · ${seconds()} s${detail && ` · ${detail}`}`;
    out.write(`\r\u001b[2K${text.slice(0, (out.columns ?? 80) - 1)}`);
  };
  const plain = () => out.write(`  … ${seconds()} s${detail && ` · ${detail.slice(0, 120)}`}\n`);
  if (!live) out.write(`${title} …\n`);
  const timer = setInterval(live ? draw : plain, live ? FRAME_MS : PLAIN_EVERY_MS);
  let mark = '✗';
  try {
    const result = await work({ detail: (text) => (detail = printable(text)) });
    mark = '✓';
    return result;
  } finally {
    clearInterval(timer);
    out.write(`${live ? '\r\u001b[2K' : ''}${mark} ${title} (${seconds()} s)\n`);
  }
}

/** An installer's line without its colours and control characters. */
function printable(text) {
  return stripVTControlCharacters(text)
    .replace(/\p{Cc}/gu, ' ')
    .trim();
}
