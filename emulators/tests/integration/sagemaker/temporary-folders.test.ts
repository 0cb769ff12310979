/** What a script finds of a machine's temporary folder and of its last seconds, in a checkout at a deep path. */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { type Ground, layGround } from '../../../../test/support/local-sagemaker.ts';

const emulator = emulatorOfSuite();
let ground: Ground;
const folder = folderOfSuite('deep');

beforeAll(async () => {
  const stateDirectory = path.join(folder, 'a-folder-of-many-letters-'.repeat(6));
  await mkdir(stateDirectory);
  ground = await layGround(emulator.url, { stateDirectory, graceSeconds: 8 });
  return () => ground.close();
});

const put = (text: string): string => `
import json, os, pathlib, time
output = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'], 'model')
${text}
`;
const plainOutput = () => ({
  OutputDataConfig: { S3OutputPath: `s3://${ground.bucket}/models`, CompressionType: 'NONE' as const },
});
const seenBy = async (name: string): Promise<Record<string, unknown>> =>
  JSON.parse((await ground.get(`models/${name}/output/model/seen`)).toString()) as Record<string, unknown>;

test('workers of a data loader live', async () => {
  const name = await ground.create({
    script: put(`
import torch

class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return torch.full((64,), index * index)

if __name__ == '__main__':
    loader = torch.utils.data.DataLoader(Squares(), batch_size=2, num_workers=2, timeout=30)
    total = sum(int(batch[:, 0].sum()) for batch in loader)
    (output / 'seen').write_text(json.dumps({'total': total, 'temporary': os.environ['TMPDIR']}))
`),
    ...plainOutput(),
  });
  const job = await ground.ended(name);
  expect(job).toMatchObject({ TrainingJobStatus: 'Completed' });
  const { total, temporary } = await seenBy(name);
  expect(total).toBe(140);
  expect(String(temporary).length).toBeLessThan(60);
  // The machine is cleared after the job has ended.
  await expect.poll(() => existsSync(String(temporary)), { timeout: 10_000 }).toBe(false);
});

test('a script gets the seconds of its warning', async () => {
  const name = await ground.create({
    script: put(`
import signal
warning = float(os.environ['TIDEWHEEL_GRACE_SECONDS'])
signal.signal(signal.SIGTERM, lambda *_: globals().update(warned=time.monotonic()))
warned = None
(output.parent / 'checkpoints/up').write_text('')
while warned is None:
    time.sleep(0.01)
time.sleep(warned + warning - time.monotonic())
(output.parent / 'checkpoints/lived').write_text(str(warning))
time.sleep(600)
`),
    CheckpointConfig: { S3Uri: `s3://${ground.bucket}/saved` },
    EnableManagedSpotTraining: true,
    StoppingCondition: { MaxRuntimeInSeconds: 600, MaxWaitTimeInSeconds: 600 },
  });
  await ground.market.nextSync();
  ground.market.isOpen = false;
  ground.market.reclaim(8);
  await ground.until(name, ({ SecondaryStatus }) => SecondaryStatus === 'Starting');
  expect(Number(await ground.get('saved/lived'))).toBe(7.3);
});

/** Says that it is up, saves for as long as TIDEWHEEL_GRACE_SECONDS says, and never leaves by itself. */
const USES_ITS_TIME = put(`
import signal
warned = None
signal.signal(signal.SIGTERM, lambda *_: globals().update(warned=warned or time.monotonic()))
resources = json.loads((output.parent / 'input/config/resourceconfig.json').read_text())
if len(resources['hosts']) > 1 and resources['current_host'] == resources['hosts'][-1]:
    time.sleep(1)
    raise SystemExit(3)
folder = output.parent / 'checkpoints'
(folder / 'up').write_text('')
while warned is None:
    time.sleep(0.01)
time.sleep(warned + float(os.environ['TIDEWHEEL_GRACE_SECONDS']) - time.monotonic())
(folder / 'saved').write_text('all of it')
time.sleep(600)
`);

test('peers of a failed host get the whole grace', async () => {
  const brief = await layGround(emulator.url, { graceSeconds: 2 });
  const name = await brief.create({
    script: USES_ITS_TIME,
    CheckpointConfig: { S3Uri: `s3://${brief.bucket}/peers` },
    ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: 2, VolumeSizeInGB: 1 },
  });
  const { TrainingStartTime, TrainingEndTime } = await brief.ended(name);
  expect((await brief.get('peers/saved')).toString()).toBe('all of it');
  expect(Number(TrainingEndTime) - Number(TrainingStartTime)).toBeLessThan(8_000);
  await brief.close();
});

test('a server that closes gives the whole grace', async () => {
  const closing = await layGround(emulator.url, { graceSeconds: 8 });
  await closing.create({
    script: USES_ITS_TIME,
    CheckpointConfig: { S3Uri: `s3://${closing.bucket}/closing` },
  });
  await closing.market.nextSync();
  await closing.server.close();
  expect((await closing.get('closing/saved')).toString()).toBe('all of it');
  await closing.close();
});
