/** A release is a commit that releases.json names: tags do not always travel with a history. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { RELEASE } from '@tidewheel/kit/stored.ts';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { RAISES_VERSIONS } from '../../upgrade/clones.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const json = (file: string): unknown => JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'));
const releases = z.record(z.string(), z.string()).parse(json('releases.json'));
const { version } = z.object({ version: z.string() }).parse(json('package.json'));

it('has a chapter of the changelog, the newest first', () => {
  const text = readFileSync(path.join(ROOT, 'CHANGELOG.md'), 'utf8');
  const [newest, ...before] = [...text.matchAll(/^## (\S+)$/gm)].map(([, name]) => name);
  expect(newest).toBe(version);
  // Only what is being made is no commit yet.
  expect(Object.keys(releases)).toEqual(expect.arrayContaining(before));
  expect([newest, ...before]).toEqual(expect.arrayContaining(Object.keys(releases)));
});

it('says its name in what it stores', () => {
  expect(RELEASE).toBe(version);
});

it('has places where the next one raises versions', () => {
  const without = RAISES_VERSIONS.filter(
    ({ file, from }) => !readFileSync(path.join(ROOT, file), 'utf8').includes(from),
  );
  expect(without).toEqual([]);
});

const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: ROOT, stdio: 'pipe', encoding: 'utf8' });

/** A shallow clone does not have the commits. */
it.skipIf(git('rev-parse', '--is-shallow-repository').startsWith('true')).each(Object.entries(releases))(
  '%s is a commit of this history',
  (_, commit) => {
    expect(() => git('merge-base', '--is-ancestor', commit, 'HEAD')).not.toThrow();
  },
);
