/** A release is a commit that releases.json names: tags do not always travel with a history. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';

const ROOT = path.join(import.meta.dirname, '../../..');
const json = (file: string): unknown => JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'));
const releases = z.record(z.string(), z.string()).parse(json('releases.json'));
const { version } = z.object({ version: z.string() }).parse(json('package.json'));

it('names the version of the package', () => {
  expect(Object.keys(releases)).toContain(version);
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
