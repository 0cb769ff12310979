/** What `logs` says while nothing is printed. */
import { afterEach, expect, it, vi } from 'vitest';
import { terminalOf } from '../../../cli/command/terminal.ts';
import { verb } from '../../../cli/verbs/logs.ts';
import { AT, runOf } from '../../support/builders/records.ts';

const PREPARING = { since: AT, text: 'Downloading the training image' };

afterEach(() => vi.unstubAllGlobals());

it.each([
  [
    [{ attempt: 1, preparing: PREPARING }],
    `${AT.slice(11, 19)} UTC Downloading the training image: nothing was printed`,
  ],
  [[], 'digits-000001 has no attempt yet: nothing was printed'],
  [[{ attempt: 1 }], ''],
])('logs name what the script waits for: %j', async (attempts, line) => {
  const lines: string[] = [];
  const run = runOf('digits', 1, { status: 'training' });
  vi.stubGlobal('fetch', async (request: string | URL | Request) => {
    const url = request instanceof Request ? request.url : String(request);
    const answer = url.includes('/log')
      ? { entries: [], isCurrent: true }
      : url.includes('/runs/digits')
        ? { run, attempts }
        : { runs: [run] };
    return new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json' } });
  });
  const terminal = {
    ...terminalOf(process, { NO_COLOR: '1' }),
    print: (text: string) => void lines.push(text),
  };
  const environment = { TIDEWHEEL_API_URL: 'http://127.0.0.1:9', TIDEWHEEL_TOKEN: 'ada' };
  await verb.invoke(['digits-000001'], {
    terminal: { ...terminal, note: () => undefined },
    folder: '.',
    environment,
    clone: undefined,
  });
  expect(lines.join('\n')).toBe(line);
});
