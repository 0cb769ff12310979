/** `tidewheel data` of a dataset of files. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { sealDataset } from '@tidewheel/packing/seal.ts';
import { beforeEach, expect, it, vi } from 'vitest';
import { COMMANDS } from '../../../../cli/dataset/commands.ts';
import { incoming, now, PIPELINE, settings } from '../../../support/builders/packing.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';

const DECLARED = `
name: ${PIPELINE}
packing: none
training: { strategy: ddp }
compute: { instanceTypes: [g5.xlarge] }
`;

let store: MemoryBlobStore;
let said: string[];

async function seal(batch: number): Promise<void> {
  const run = {
    runId: `${PIPELINE}-00000${batch}`,
    pipeline: PIPELINE,
    packing: settings({ format: 'none' }),
  };
  await planShards({ store, now }, run);
  await sealDataset({ store }, run);
}

beforeEach(async () => {
  store = new MemoryBlobStore();
  said = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  store.seed(bucketKeys.pipeline(PIPELINE), DECLARED);
  store.seed(`${incoming}a.csv`, 'one');
  store.seed(`${incoming}d/b.csv`, 'two');
  await seal(1);
  return () => vi.restoreAllMocks();
});

async function data(command: keyof typeof COMMANDS, ...words: string[]) {
  said = [];
  const request = { store, pipeline: PIPELINE, generation: words[0], words, over: [], most: 10 };
  const options = { replaced: false, giveUp: false, dryRun: false, tell: (line: string) => said.push(line) };
  const outcome = await COMMANDS[command]({ ...request, ...options, out: undefined });
  return { code: typeof outcome === 'number' ? outcome : outcome.code, text: said.join('\n') };
}

it('lists generations by their files', async () => {
  store.seed(`${incoming}a.csv`, 'other');
  await seal(2);
  const { text } = await data('list');
  expect(text).toContain('digits-000001  replaced by a newer generation  2 files, 6 bytes');
  expect(text).toContain('digits-000002  sealed  2 files, 8 bytes');
  expect((await data('compare', 'digits-000001')).text).toContain('replaced  a.csv');
});

it('compares the newest version, or a named one', async () => {
  store.seed(`${incoming}a.csv`, 'other');
  await seal(2);
  const all = await data('verify');
  expect(all.code).toBe(0);
  expect(all.text).toContain(
    'digits-000001: replaced, its files may have changed since; name it to compare them',
  );
  expect(all.text).toContain('digits-000002: intact; 2 files, 8 bytes compared by ETag');
  const old = await data('verify', 'digits-000001');
  expect(old.code).toBe(1);
  expect(old.text).toContain('a.csv" changed or was deleted since the seal');
});

it('retracts a file from the next version on', async () => {
  const { code, text } = await data('retract', 'a.csv');
  expect(code).toBe(0);
  expect(text).toContain('1 file retracted: the next run seals a version without');
  await seal(2);
  expect((await data('contents')).text).not.toContain('a.csv');
});

it.each(['show', 'sample', 'find'] as const)('says that %s has no samples', async (command) => {
  const { code, text } = await data(command, ...(command === 'show' ? [] : ['a.csv']));
  expect(code).toBe(1);
  expect(text).toContain('its files were not packed (packing: none): tidewheel data contents lists them');
});
