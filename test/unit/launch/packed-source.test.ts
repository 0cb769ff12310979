/** Names of objects are hostile: what passes is a file below its folder, everything else is refused with its name. */

import path from 'node:path';
import { belongsToSource } from '@tidewheel/declaration/script.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pinnedSourceOf } from '../../../functions/launch/source/pin-source.ts';
import { declarationOf, runOf } from '../../support/builders/records.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';

/** The digest of a source with these files, or why it is refused. */
function pinned(
  files: Readonly<Record<string, string>>,
  training: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const store = memoryObjectStore(fakeClock());
  for (const [name, text] of Object.entries(files)) store.put(`digits/source/${name}`, text);
  const declaration = declarationOf('digits', { training: { strategy: 'ddp', ...training } });
  return pinnedSourceOf(store, runOf('digits', 1, { declaration })).then(
    (source) => source?.digest ?? '',
    (error: unknown) => String(error),
  );
}
const withNames = (...names: readonly string[]): Promise<string> =>
  pinned(Object.fromEntries(['train.py', ...names].map((name) => [name, 'x'])));
const DIGEST = /^[0-9a-f]{64}$/;

describe('the folder that the script runs in', () => {
  it.each(['vit', '${checkpoints}'])('may be %s', async (workingDirectory) => {
    expect(await pinned({ 'train.py': '', 'vit/config.yaml': '' }, { workingDirectory })).toMatch(DIGEST);
  });

  it('has to hold something', async () => {
    expect(await pinned({ 'train.py': '' }, { workingDirectory: 'vit' })).toMatch(
      /vit is no folder under s3:\/\/.*\/digits\/source\//,
    );
  });
});

describe('the names of a source', () => {
  it.each([
    '../outside',
    'a/../../outside',
    'a/..',
    '/etc/passwd',
    '//etc/passwd',
    'a//b',
    './a',
    'a/.',
    '..',
    'a\0b',
    'a\nb',
    'a\u001b[31mb',
    'x'.repeat(256),
    'x'.repeat(1_024),
    `${'x/'.repeat(600)}y`,
    'ü'.repeat(128),
    'train.py/b',
  ])('refuse %j', async (name) => {
    expect(await withNames(name)).toMatch(/^LaunchRefusedError: .*: rename it$/);
  });

  it.each([
    'a/b.py',
    'ü \u{1F30A}.txt',
    '$(id)',
    "'; rm -rf ~",
    'a b',
    '..a',
    'a..',
    '.env',
    'a\\..\\b',
    '-rf',
  ])('take %j as it is', async (name) => {
    expect(await withNames(name)).toMatch(DIGEST);
  });

  it('lead to a file below the folder when accepted', async () => {
    const hostile = fc.array(fc.constantFrom('..', '.', '', '/', 'a', '\\', '\0', 'ü', '~', ' '), {
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(hostile, fc.constantFrom('/', ''), async (parts, joint) => {
        const name = parts.join(joint);
        if (!belongsToSource(name) || !DIGEST.test(await withNames(name))) return;
        const there = path.posix.resolve('/opt/ml/code', name);
        expect(there.startsWith('/opt/ml/code/')).toBe(true);
        expect(there).toBe(`/opt/ml/code/${name}`);
      }),
    );
  });

  it('report all problems, shortened to the first few', async () => {
    expect(await withNames(...Array.from({ length: 9 }, (_, index) => `../${index}`))).toMatch(
      /"\.\.\/4".*and 4 more/s,
    );
  });
});

describe('the size of a source', () => {
  it('is refused with the largest file and a remedy', async () => {
    expect(await pinned({ 'train.py': '', 'weights.bin': ' '.repeat(70_000_000) })).toMatch(
      /limit is 67108864.*"weights\.bin".*training\.channels/s,
    );
  });

  it('is refused by the number of files, too', async () => {
    expect(await withNames(...Array.from({ length: 5_000 }, (_, index) => `${index}`))).toMatch(/5001 files/);
  });
});

it('without its program is refused before the launch', async () => {
  expect(await pinned({ 'other.py': '' })).toMatch(/train\.py is not under s3:.*"other\.py"/);
  expect(await pinned({})).toMatch(
    /no object lies under s3:\/\/.*\/digits\/source\/: put train\.py and what it needs there$/,
  );
});

it('has a hash independent of the read order', async () => {
  const digest = await pinned({ 'train.py': 'train.py', 'a/b': 'a/b' });
  expect(await pinned({ 'a/b': 'a/b', 'train.py': 'train.py' })).toBe(digest);
  expect(await pinned({ 'train.py': 'train.py' })).not.toBe(digest);
});
