/** `tidewheel doctor` as a person runs it: a process of its own, on what an agent left in the bucket of a stack. */

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { keyVariables } from '@tidewheel/emulators/access/access-key.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evidenceOf } from '../../support/builders/evidence.ts';
import { AT, attemptOf, declarationOf, placementOf, runOf } from '../../support/builders/records.ts';
import { undocumented } from '../../support/documented.ts';
import { startTestEmulator, TEST_KEY, type TestEmulator } from '../../support/emulator.ts';
import { folderOfSuite } from '../../support/folders.ts';
import { createStack } from '../../support/stack.ts';
import { makeStores } from '../../support/table.ts';
import { type ApiServer, startApi } from '../../support/world/api-server.ts';
import { ground } from '../../support/world/ground.ts';
import { makeObjectStore } from '../control-plane/ground.ts';

const RUN = 'digits-000001';
const ROOT = path.join(import.meta.dirname, '../../..');
const run = promisify(execFile);
const DECLARED = `# ours
name: digits
training: { strategy: ddp, inputMode: FastFile } # streams
compute: { instanceTypes: [g5.xlarge] }
`;

let emulator: TestEmulator | undefined;
let api: ApiServer | undefined;
let store: ObjectStore;
const folder = folderOfSuite('doctor');
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  emulator = await startTestEmulator();
  const stores = await makeStores(emulator.url, 'diagnosed');
  store = await makeObjectStore(emulator.url, 'diagnosed');
  const at = ground();
  const { jobName } = attemptOf(RUN, 1);
  for (const [second, text] of ['\u001b[2Jstep 1', 'loss 0.5'].entries())
    at.logs.print(`${jobName}/`, { at: Date.parse(AT) + second * 1_000, host: 'algo-1', text });
  at.clock.advance(60);
  api = await startApi({ ...at, ...stores, store }, 'ann');
  await createStack(emulator.url, { TableName: 'diagnosed', DataBucketName: 'diagnosed', ApiUrl: api.url });
  environment = {
    ...process.env,
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL: emulator.url,
    ...keyVariables(TEST_KEY),
  };
  await stores.pipelines.ensure('digits', { firstBatch: 1, at: AT });
  await stores.runs.create(runOf('digits', 1));
  await stores.runs.create(runOf('digits', 2));
  await stores.runs.closeBatch(runOf('digits', 1), { at: AT, declaration: declarationOf('digits') });
  await stores.attempts.create(
    attemptOf(RUN, 1, {
      placement: placementOf({ topology: { nodes: 1, acceleratorsPerNode: 1 } }),
      input: { mode: 'FastFile', shards: 10, bytes: 1e9 },
    }),
  );
  const { points } = evidenceOf([
    { type: 'g5.xlarge', shares: { wait: 0.6, compute: 0.4 }, received: 1.25e9 },
  ]);
  await store.writeText(
    `${bucketKeys.evidence('digits', RUN)}1-algo-1.jsonl`,
    points.map((point) => JSON.stringify(point)).join('\n'),
  );
  await store.writeText(bucketKeys.pipeline('digits'), DECLARED);
}, 120_000);

afterAll(async () => {
  api?.stop();
  await emulator?.stop();
}, 60_000);

const tidewheel = (...args: string[]) =>
  run(process.execPath, [path.join(ROOT, 'cli/tidewheel.mjs'), ...args], { cwd: folder, env: environment });
const doctor = (...args: string[]) => tidewheel('doctor', ...args);

describe('doctor', () => {
  it('shows plots, verdicts and remedies of a run', async () => {
    const { stdout } = await doctor(RUN);
    expect(stdout).toMatch(/^digits-000001, attempt 1\nhost 0, shares/);
    expect(stdout).toContain('change (declaration): training.inputMode: File');
  }, 60_000);

  it('prints the verdicts as JSON', async () => {
    const { stdout } = await doctor(RUN, '--json');
    const verdicts: unknown = JSON.parse(stdout);
    expect(verdicts).toMatchObject([{ cause: 'network', remedy: { where: 'declaration' } }]);
    expect(undocumented('doctor', verdicts)).toEqual([]);
  }, 60_000);

  it('changes the declaration, and keeps its comments', async () => {
    await doctor(RUN, '--apply');
    const { text } = (await store.readText(bucketKeys.pipeline('digits'))) ?? {};
    expect(text).toContain('# ours\nname: digits\ntraining: { strategy: ddp, inputMode: File } # streams\n');
    await writeFile(path.join(folder, 'tidewheel.yaml'), DECLARED);
    await doctor(RUN, '--apply');
    expect(await readFile(path.join(folder, 'tidewheel.yaml'), 'utf8')).toBe(text);
  }, 60_000);

  it('shows no page for what the page lacks', async () => {
    await expect(doctor('--evidence', 'measured.json', '--web')).rejects.toMatchObject({
      code: 8,
      stderr: expect.stringContaining('--evidence is of no run that the page could show: leave --web out'),
    });
  }, 60_000);

  it('has runs compared beside it', async () => {
    const { stdout, stderr } = await tidewheel('compare', RUN, 'digits-000002', '--metric', 'nosuch');
    expect(stdout).toMatch(/^run .*samples\/s .*GPU/);
    expect(stdout.match(/^digits-00000. .*not measured/gm)).toHaveLength(2);
    expect(stderr).toContain('no run of these has logged "nosuch"');
    await expect(tidewheel('compare', RUN, RUN)).rejects.toMatchObject({
      code: 8,
      stderr: expect.stringContaining('digits-000001 stands there twice: name each run once'),
    });
    await expect(tidewheel('compare', RUN, 'digits-000009')).rejects.toMatchObject({
      code: 8,
      stderr: expect.stringContaining('there is no run "digits-000009"'),
    });
  }, 60_000);

  it('has the log of the run beside it', async () => {
    const { stdout } = await tidewheel('logs', RUN);
    expect(stdout.split('\n').slice(1)).toEqual([
      `${AT.slice(11, 19)} step 1`,
      expect.stringMatching(/ loss 0\.5$/),
      '',
    ]);
    expect(stdout).toMatch(/^── attempt 1 began on 1 × g5\.xlarge/);
    const found = await tidewheel('logs', RUN, '--grep', 'loss', '--json');
    expect(JSON.parse(found.stdout)).toMatchObject({ attempt: 1, host: 'algo-1', message: 'loss 0.5' });
    await expect(tidewheel('logs', RUN, '--attempt', '3')).rejects.toMatchObject({
      code: 8,
      stderr: expect.stringContaining('digits-000001 has no attempt 3: its last is 1'),
    });
  }, 60_000);

  it('names an attempt that is not there', async () => {
    await expect(doctor(RUN, '--attempt', '3')).rejects.toMatchObject({
      code: 8,
      stderr: expect.stringContaining('digits-000001 has no attempt 3: it has 1'),
    });
  }, 60_000);
});
