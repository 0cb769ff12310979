/** `tidewheel interrupt` against running jobs: the command, the control server, the market and SageMaker together. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TEST_KEY } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { type Ground, layGround } from '../../../../test/support/local-sagemaker.ts';
import { startControlServer } from '../../../region/control-server.ts';
import { makeInterruptions } from '../../../region/interruptions.ts';
import { type LocalMarket, startLocalMarket } from '../../../spot-market/spot-market.ts';

const run = promisify(execFile);
const COMMAND = path.join(import.meta.dirname, '../../../../cli/tidewheel.mjs');
const GRACE_SECONDS = 2;

const emulator = emulatorOfSuite();
let ground: Ground;
let market: LocalMarket;
const stateDirectory = folderOfSuite('interrupt');
let closeControl: () => Promise<void>;

beforeAll(async () => {
  await writeFile(path.join(stateDirectory, 'access-key.json'), JSON.stringify(TEST_KEY));
  market = await startLocalMarket({ credentials: TEST_KEY, graceSeconds: GRACE_SECONDS });
  ground = await layGround(emulator.url, { market: market.market, graceSeconds: GRACE_SECONDS });
  const interruptions = makeInterruptions({ market, sageMaker: ground.server, ec2: { hosts: new Map() } });
  closeControl = await startControlServer({
    stateDirectory,
    credentials: TEST_KEY,
    interruptions,
    log: () => undefined,
  });
});

afterAll(async () => {
  await closeControl?.();
  await ground?.close();
  await market?.close();
});

/** Exit code and all that it printed. */
async function interrupt(...words: string[]): Promise<[number, string]> {
  try {
    const { stdout } = await run(process.execPath, [
      COMMAND,
      'interrupt',
      '--state',
      stateDirectory,
      ...words,
    ]);
    return [0, stdout];
  } catch (error: unknown) {
    const { code, stderr } = error as { code: number; stderr: string };
    return [code, stderr];
  }
}

/** Trains until it is warned; ends at once where it finds that a warning was heard before. */
const SCRIPT = `
import os, pathlib, signal, sys, time
saved = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'], 'checkpoints')
def leave(*_):
    (saved / 'warned').write_text('')
    sys.exit(0)
signal.signal(signal.SIGTERM, leave)
if (saved / 'warned').exists():
    sys.exit(0)
(saved / 'up').write_text('')
time.sleep(600)
`;
const start = async (name: string, hosts = 1): Promise<void> => {
  await ground.create({
    script: SCRIPT,
    TrainingJobName: name,
    EnableManagedSpotTraining: true,
    CheckpointConfig: { S3Uri: `s3://${ground.bucket}/${name}` },
    StoppingCondition: { MaxRuntimeInSeconds: 600, MaxWaitTimeInSeconds: 600 },
    ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: hosts, VolumeSizeInGB: 1 },
  });
  while ((await ground.keys(`${name}/up`)).length === 0) await new Promise((wait) => setTimeout(wait, 50));
};

test('a warned run saves and continues elsewhere', async () => {
  await start('digits-000001-a1-abcdef');
  expect((await interrupt())[1]).toContain('digits-000001  digits-000001-a1-abcdef  sagemaker  1 host  Spot');
  const [zone] = market.leases.held().map(({ zoneId }) => zoneId);
  expect(await interrupt('digits-000001')).toEqual([
    0,
    'digits-000001-a1-abcdef: all hosts warned; the grace runs\n',
  ]);
  const job = await ground.ended('digits-000001-a1-abcdef');
  expect(job).toMatchObject({ TrainingJobStatus: 'Completed' });
  expect(job.SecondaryStatusTransitions?.map(({ Status }) => Status)).toContain('Interrupted');
  const again = market.market.acquire({
    owner: 'digits-000001-a2-abcdef',
    groups: [{ instanceType: 'c5.xlarge', count: 1 }],
    zoneIds: [zone ?? ''],
    purchaseOption: 'spot',
  });
  expect(again).toBeUndefined();
});

test('a killed host is lost capacity, not an error', async () => {
  await start('digits-000002-a1-abcdef', 2);
  expect((await interrupt('digits-000002', '--host', '2'))[1]).toContain('add --kill');
  expect((await interrupt('digits-000002', '--host', '3', '--kill'))[1]).toContain('has 2 hosts');
  expect(await interrupt('digits-000002', '--host', '2', '--kill')).toEqual([
    0,
    'digits-000002-a1-abcdef: host 2 failed, without a warning\n',
  ]);
  const job = await ground.ended('digits-000002-a1-abcdef');
  expect(job.FailureReason).toMatch(/^InternalServerError.*algo-2 was lost/);
});

test('a refusal names the runs that have machines', async () => {
  await start('cats-000001-a1-abcdef');
  const [code, text] = await interrupt('dogs-000001');
  expect([code, text]).toEqual([
    1,
    expect.stringContaining('These have: cats-000001 (cats-000001-a1-abcdef)'),
  ]);
  expect((await interrupt('cats-000001', '--host', 'x'))[0]).toBe(8);
  await interrupt('cats-000001', '--kill');
  await ground.ended('cats-000001-a1-abcdef');
  expect((await interrupt())[1]).toBe('no run has machines now\n');
});

test('only the region’s key may strike', async () => {
  const { url } = JSON.parse(await readFile(path.join(stateDirectory, 'control.json'), 'utf8')) as {
    url: string;
  };
  const answers = await Promise.all([
    fetch(`${url}/jobs`),
    fetch(`${url}/interruptions`, { method: 'POST', body: '{"run":"x","kill":true}' }),
    fetch(`${url}/jobs`, { headers: { origin: 'https://example.com' } }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
});

test('a region that is down is named', async () => {
  await closeControl();
  expect((await interrupt())[1]).toContain(`no region is up in ${stateDirectory}`);
  await writeFile(path.join(stateDirectory, 'control.json'), '{"url":"http://127.0.0.1:9"}');
  expect((await interrupt())[1]).toContain('no region is up in');
});
