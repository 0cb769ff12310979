/** `--web`: the screen of the page that says what a verb says. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, vi } from 'vitest';
import * as z from 'zod';
import { serveScreen } from '../../../cli/command/serve-screen.ts';
import { VERBS } from '../../../cli/verbs.ts';

it('serves the page at its screen until Ctrl-C', async () => {
  const printed: string[] = [];
  const terminal = { print: (line: string) => void printed.push(line) };
  const deployment = () =>
    Promise.resolve({ apiUrl: 'http://127.0.0.1:1', region: 'us-east-1', title: 'local region' });
  const ended = serveScreen(
    { terminal, json: true, deployment, folder: '/home', place: { state: 'region' } },
    { screen: '/money?month=2026-11' },
  );
  await vi.waitFor(() => expect(printed).toHaveLength(1), 10_000);
  const { address } = z.object({ address: z.string() }).parse(JSON.parse(printed[0] ?? ''));
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=\w{32}#\/money\?month=2026-11$/);
  expect((await fetch(address)).status).toBe(401);
  const opened = await fetch(address, { redirect: 'manual' });
  expect(opened.headers.get('location')).toBe('/');
  expect(decodeURIComponent(opened.headers.getSetCookie()[1] ?? '')).toMatch(
    /^tidewheel-\d+-place=--state \/home\/region; SameSite=Strict; Path=\/$/,
  );
  process.emit('SIGINT');
  expect(await ended).toBe(0);
  await expect(fetch(address)).rejects.toThrow();
});

it('is what docs/cli.md says of which verbs', async () => {
  const file = path.join(import.meta.dirname, '../../../docs/cli.md');
  const [sentence = ''] = /^With `--web`[^]*?print/m.exec(readFileSync(file, 'utf8')) ?? [];
  const named = [...sentence.matchAll(/`([a-z]+)[^`]*`/g)].map(([, name = '']) => name);
  const all = await Promise.all(Object.values(VERBS).map((load) => load()));
  const taking = all.flatMap(({ verb: { name, options } }) => (options['web'] === undefined ? [] : [name]));
  expect(named.toSorted()).toEqual(taking.toSorted());
});
