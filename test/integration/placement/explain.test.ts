/** `tidewheel why` as a person runs it: a process of its own, on what `place` has stored in the table. */

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { pipelineSchema } from '@tidewheel/declaration/pipeline.ts';
import { keyVariables } from '@tidewheel/emulators/access/access-key.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Stores } from '../../../functions/records/stores.ts';
import { place } from '../../../functions/run/attempts/place.ts';
import { hoursLater, market, vpc } from '../../support/builders/placement.ts';
import { attemptOf, runOf } from '../../support/builders/records.ts';
import { startTestEmulator, TEST_KEY, type TestEmulator } from '../../support/emulator.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';
import { marketSource } from '../../support/market/source.ts';
import { createStack } from '../../support/stack.ts';
import { makeStores } from '../../support/table.ts';
import { type ApiServer, startApi } from '../../support/world/api-server.ts';
import { ground } from '../../support/world/ground.ts';
import { planDeps } from '../../support/world/plan.ts';

const TABLE = 'explained';
const DECLARED = JSON.stringify({
  name: 'digits',
  training: { strategy: 'ddp' },
  compute: { instanceTypes: ['g5.xlarge', 'g6.xlarge'], nodes: 2, vpc },
});
const ROOT = path.join(import.meta.dirname, '../../..');
const run = promisify(execFile);

let emulator: TestEmulator | undefined;
let api: ApiServer | undefined;
let stores: Stores;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  emulator = await startTestEmulator();
  stores = await makeStores(emulator.url, TABLE);
  const at = ground();
  at.declare(DECLARED);
  api = await startApi({ ...at, ...stores }, 'ann');
  api.plan = planDeps(at, stores);
  await createStack(emulator.url, { TableName: TABLE, DataBucketName: 'unread', ApiUrl: api.url });
  environment = {
    ...process.env,
    AWS_REGION: 'us-east-1',
    AWS_ENDPOINT_URL: emulator.url,
    ...keyVariables(TEST_KEY),
  };
  const closedAt = hoursLater(0);
  const declaration = pipelineSchema.parse({
    name: 'digits',
    training: { strategy: 'ddp' },
    compute: { instanceTypes: ['g5.xlarge', 'g6.xlarge'], nodes: 2, vpc },
  });
  await stores.pipelines.ensure('digits', { firstBatch: 1, at: closedAt });
  await stores.runs.create(runOf('digits', 1));
  await stores.runs.closeBatch(runOf('digits', 1), { at: closedAt, declaration });
  await stores.marketSamples.put({
    family: 'g6e',
    zoneId: 'usw2-az1',
    at: hoursLater(0.5),
    readAt: hoursLater(0.5),
    scores: {},
    spotUsd: { 'g6e.xlarge': 0.05 },
    onDemandUsd: { 'g6e.xlarge': 0.9 },
  });
  const clock = { now: () => new Date(hoursLater(1)) };
  await place(
    { ...stores, store: memoryObjectStore(clock), market: marketSource(market), clock },
    { runId: 'digits-000001' },
  );
}, 120_000);

afterAll(async () => {
  api?.stop();
  await emulator?.stop();
}, 60_000);

const tidewheel = (...words: string[]) =>
  run(process.execPath, ['cli/tidewheel.mjs', ...words], { cwd: ROOT, env: environment });
const explain = async (...args: string[]): Promise<string> => (await tidewheel('why', ...args)).stdout;

describe('explain', () => {
  it('shows every column, and decides the same again', async () => {
    const text = await explain('digits-000001');
    expect(text).toMatch(/pool +score +\$\/h +there now +else in +lasts +cost +time +verdict/);
    expect(text).toMatch(/2 x g6\.xlarge use1-az1 (spot|on-demand)/);
    expect(text).toContain('Decided again from what is stored: the same.');
  }, 60_000);

  it('answers a what-if from the history', async () => {
    const text = await explain(
      'digits-000001',
      '--regions=us-east-1,us-west-2',
      '--zones=usw2-az1',
      '--types=g6e.xlarge',
      '--purchase-option=spot',
      '--data-gigabytes=20',
    );
    expect(text).toMatch(/2 x g6e\.xlarge, spot, in us-west-2 usw2-az1/);
    expect(text).toContain('20.0 GB are copied to us-west-2 and back for $0.40');
    expect(text).toContain(`the Spot price of g6e.xlarge in usw2-az1 is the history's of ${hoursLater(0.5)}`);
  }, 60_000);

  it('names damaged and missing attempts', async () => {
    const [first] = await stores.placements.list('digits-000001');
    if (first === undefined) throw new Error('nothing was placed');
    await stores.attempts.create(attemptOf('digits-000001', 1));
    const damaged = JSON.parse('{"kind":"launch","placement":{},"question":{}}') as typeof first.decision;
    await stores.placements.put('digits-000001', 2, damaged);
    expect(await tidewheel('why', 'digits-000001')).toMatchObject({
      stdout: expect.stringContaining('attempt 1, as decided'),
      stderr: expect.stringMatching(
        /^✗ left out: the record RUN#digits-000001 PLACEMENT#0002 is of another release, or damaged/m,
      ),
    });
    await expect(explain('digits-000001', '--attempt', '9')).rejects.toMatchObject({
      code: 8,
      stderr: expect.stringContaining('digits-000001 has no attempt 9: its last is 1'),
    });
  }, 60_000);
});

describe('plan', () => {
  const WORDS = ['plan', '--pipeline', 'digits', '--files', '20000', '--gigabytes', '4'];

  it('says shards, place, cost and finish', async () => {
    const { stdout } = await tidewheel(...WORDS, '--set', 'deadline=30');
    expect(stdout).toMatch(/^new data +20,000 files, 4\.0 GB \(not uploaded\): \d+ shards/m);
    expect(stdout).toMatch(/^place +2 x g[56]\.xlarge, spot in use1-az1$/m);
    // No run has ended, so nothing is known of the pace.
    expect(stdout).toMatch(/^cost +not known, at most USD [\d.]+; a probe of some steps: about USD [\d.]+$/m);
    expect(stdout).toMatch(/^finish .*deadline /m);
  }, 60_000);

  it('counts a folder that is not uploaded', async () => {
    const { stdout } = await tidewheel('plan', '--pipeline', 'digits', '--data', 'cli/verbs', '--json');
    const { packing } = JSON.parse(stdout) as { packing: unknown };
    expect(packing).toMatchObject({ basis: 'given', files: expect.any(Number) as number, shards: 1 });
    await expect(tidewheel('plan', '--pipeline', 'digits', '--data', 'nowhere')).rejects.toMatchObject({
      code: 8,
      stderr: expect.stringContaining('--data is "nowhere", which cannot be read'),
    });
  }, 60_000);

  it('answers a wrong pipeline with the nearest', async () => {
    await expect(tidewheel('plan', '--pipeline', 'digitz')).rejects.toMatchObject({
      code: 8,
      stderr: expect.stringContaining('did you mean digits?') as string,
    });
  }, 60_000);

  it('ends with 8 for half of a size', async () => {
    await expect(tidewheel('plan', '--pipeline', 'digits', '--files', '3')).rejects.toMatchObject({
      code: 8,
      stderr: expect.stringContaining('--files and --gigabytes belong together'),
    });
  }, 60_000);
});
