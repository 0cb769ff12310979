import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DescribeLogStreamsCommand, GetLogEventsCommand } from '@aws-sdk/client-cloudwatch-logs';
import { StopTrainingJobCommand } from '@aws-sdk/client-sagemaker';
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { folderOfTest } from '../../../../test/support/folders.ts';
import { type Ground, layGround } from '../../../../test/support/local-sagemaker.ts';

const emulator = emulatorOfSuite();
let ground: Ground;

beforeAll(async () => {
  ground = await layGround(emulator.url, { spotDiscount: () => 0.25 });
  return () => ground.close();
});

afterEach(() => {
  ground.market.open();
});

/** Counts to the wanted step, a checkpoint each, and goes on from the newest; SIGTERM saves once more and leaves. */
const COUNTING = `
import json, os, pathlib, signal, sys, time
base = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])
folder = base / 'checkpoints'
folder.mkdir(exist_ok=True)
hyper = json.loads((base / 'input/config/hyperparameters.json').read_text())
saved = sorted(folder.glob('step-*.json'))
step = json.loads(saved[-1].read_text())['step'] if saved else 0
print(f'starts at {step}', flush=True)
stop = False
def on_term(*_):
    global stop
    stop = True
signal.signal(signal.SIGTERM, on_term)
def save(name):
    new = folder / 'new'
    new.write_text(json.dumps({'step': step}))
    new.rename(folder / name)
while step < int(hyper['steps']) and not stop:
    step += 1
    save(f'step-{step:05d}.json')
    time.sleep(0.05)
if stop:
    save(f'step-{step:05d}.json')
    (folder / 'left-on-term').write_text(str(step))
    sys.exit(int(hyper.get('code', '0')))
(base / 'model/step').write_text(str(step))
`;

const spotJob = (steps: number, more: Record<string, string> = {}) => ({
  script: COUNTING,
  HyperParameters: { steps: String(steps), ...more },
  EnableManagedSpotTraining: true,
  StoppingCondition: { MaxRuntimeInSeconds: 3_000, MaxWaitTimeInSeconds: 6_000 },
});

const withCheckpoints = (key: string) => ({ CheckpointConfig: { S3Uri: `s3://${ground.bucket}/${key}` } });

async function logOf(name: string): Promise<string[]> {
  const logGroupName = '/aws/sagemaker/TrainingJobs';
  const { logStreams } = await ground.logs.send(
    new DescribeLogStreamsCommand({ logGroupName, logStreamNamePrefix: `${name}/` }),
  );
  const all: string[] = [];
  for (const { logStreamName } of logStreams ?? []) {
    const { events } = await ground.logs.send(
      new GetLogEventsCommand({ logGroupName, logStreamName: logStreamName ?? '', startFromHead: true }),
    );
    all.push(...(events ?? []).map(({ message }) => message ?? ''));
  }
  return all;
}

const statuses = (job: { SecondaryStatusTransitions?: { Status?: string | undefined }[] | undefined }) =>
  job.SecondaryStatusTransitions?.map(({ Status }) => Status);

test('a reclaimed job saves, restarts in place, resumes', async () => {
  const name = await ground.create({ ...spotJob(60, { code: '143' }), ...withCheckpoints('resume') });
  await ground.until(name, ({ SecondaryStatus }) => SecondaryStatus === 'Training');
  await ground.market.nextSync();
  ground.market.isOpen = false;
  ground.market.reclaim(5);
  const starved = await ground.until(
    name,
    (job) =>
      job.SecondaryStatus === 'Starting' &&
      job.SecondaryStatusTransitions?.at(-1)?.StatusMessage?.includes('Insufficient') === true,
  );
  expect(ground.market.leasesHeld).toBe(0);
  expect(starved.TrainingJobStatus).toBe('InProgress');
  const marker = Number((await ground.get('resume/left-on-term')).toString());
  expect(marker).toBeGreaterThan(0);
  expect((await ground.keys('resume/')).filter((key) => key.includes('step-'))).toHaveLength(marker);
  ground.market.open();
  const job = await ground.ended(name);
  expect(job.FailureReason).toBeUndefined();
  expect(statuses(job)).toEqual([
    'Starting',
    'Downloading',
    'Training',
    'Interrupted',
    'Starting',
    'Downloading',
    'Training',
    'Uploading',
    'Completed',
  ]);
  expect(await logOf(name)).toEqual(expect.arrayContaining(['starts at 0', `starts at ${marker}`]));
  // A second that has begun is billed.
  const quarter = (job.TrainingTimeInSeconds ?? 0) / 4;
  expect(job.BillableTimeInSeconds).toBeGreaterThanOrEqual(Math.floor(quarter));
  expect(job.BillableTimeInSeconds).toBeLessThanOrEqual(Math.ceil(quarter));
});

test('a starved Spot job ends at its limit', async () => {
  ground.market.isOpen = false;
  const name = await ground.create({
    ...spotJob(5),
    StoppingCondition: { MaxRuntimeInSeconds: 1, MaxWaitTimeInSeconds: 1 },
  });
  const waiting = await ground.describe(name);
  expect(waiting).toMatchObject({ TrainingJobStatus: 'InProgress', SecondaryStatus: 'Starting' });
  expect(waiting.TrainingStartTime).toBeUndefined();
  const job = await ground.ended(name);
  expect(job).toMatchObject({ TrainingJobStatus: 'Stopped', SecondaryStatus: 'MaxWaitTimeExceeded' });
  expect(job.TrainingTimeInSeconds).toBeUndefined();
  expect(statuses(job)).toEqual(['Starting', 'Stopping', 'MaxWaitTimeExceeded']);
});

test('a starved accelerator job waits in Pending', async () => {
  ground.market.isOpen = false;
  const name = await ground.create({
    script: COUNTING,
    ResourceConfig: { InstanceType: 'ml.g5.xlarge', InstanceCount: 2, VolumeSizeInGB: 1 },
  });
  await ground.until(name, ({ SecondaryStatus }) => SecondaryStatus === 'Pending');
  await ground.sageMaker.send(new StopTrainingJobCommand({ TrainingJobName: name }));
  const job = await ground.ended(name);
  expect(job).toMatchObject({ TrainingJobStatus: 'Stopped', SecondaryStatus: 'Stopped' });
  await expect(ground.sageMaker.send(new StopTrainingJobCommand({ TrainingJobName: name }))).rejects.toThrow(
    'The request was rejected because the training job is in status Stopped',
  );
});

test('an overlong job stops and keeps its model', async () => {
  const name = await ground.create({
    ...spotJob(10_000),
    ...withCheckpoints('too-long'),
    // On a busy machine a second and more passes before the script hears a signal.
    StoppingCondition: { MaxRuntimeInSeconds: 5, MaxWaitTimeInSeconds: 6_000 },
  });
  const job = await ground.ended(name);
  expect(job).toMatchObject({ TrainingJobStatus: 'Stopped', SecondaryStatus: 'MaxRuntimeExceeded' });
  expect(await ground.keys('too-long/')).toContain('too-long/left-on-term');
  expect(await ground.keys(`models/${name}/`)).toEqual([`models/${name}/output/model.tar.gz`]);
  expect(statuses(job)).toEqual([
    'Starting',
    'Downloading',
    'Training',
    'Stopping',
    'Uploading',
    'MaxRuntimeExceeded',
  ]);
});

/** Steps that the script keeps. */
const KEPT = 5;

test('a marker in S3 always has its data', async () => {
  const next = path.join(folderOfTest('markers'), 'after');
  const name = await ground.create({
    ...spotJob(1),
    ...withCheckpoints('whole'),
    script: `
import hashlib, os, pathlib, shutil, time
folder = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR']) / 'checkpoints'
for step in range(1, 121):
    sums = []
    for part in range(4):
        data = os.urandom(1 + (step * 7919 + part) % 300_000)
        (folder / f'step-{step:04d}').mkdir(exist_ok=True)
        (folder / f'step-{step:04d}/part-{part}').write_bytes(data)
        sums.append(hashlib.sha256(data).hexdigest())
    (folder / 'latest.tmp').write_text(f'{step:04d} ' + ' '.join(sums))
    os.replace(folder / 'latest.tmp', folder / 'latest')
    time.sleep(0.05)
    if step > ${KEPT}:
        shutil.rmtree(folder / f'step-{step - ${KEPT}:04d}')
    # Thirty steps go on at their own pace; the next thirty once these are seen in S3.
    while step % 30 == 0 and not os.path.exists(f'${next}-{step:04d}'):
        time.sleep(0.01)
`,
  });
  await ground.until(name, ({ SecondaryStatus }) => SecondaryStatus === 'Training');
  const torn: string[] = [];
  while (torn.length === 0 && (await ground.describe(name)).SecondaryStatus === 'Training') {
    const marker = await ground.get('whole/latest').catch(() => undefined);
    if (!marker) continue;
    const [step = '', ...sums] = marker.toString().split(' ');
    const parts = sums.map((_, part) => ground.get(`whole/step-${step}/part-${part}`));
    const whole = await Promise.all(parts).catch(() => undefined);
    if (whole === undefined) {
      // A slow look may find a step gone of which the marker names a later one.
      const later = (await ground.get('whole/latest')).toString();
      if (Number(later.slice(0, 4)) < Number(step) + KEPT) torn.push(step);
      continue;
    }
    expect(whole.map((data) => createHash('sha256').update(data).digest('hex'))).toEqual(sums);
    await writeFile(`${next}-${step}`, '');
  }
  expect(torn).toEqual([]);
  expect((await ground.ended(name)).TrainingJobStatus).toBe('Completed');
  const steps = new Set((await ground.keys('whole/step-')).map((key) => key.split('/')[1]));
  expect(steps.size).toBe(KEPT);
});

test('a stop during download leaves S3 unchanged', async () => {
  const big = 'x'.repeat(1_000_000);
  for (let index = 0; index < 60; index += 1) await ground.put(`cut/file-${index}`, big);
  const before = await ground.keys('cut/');
  const name = await ground.create({ ...spotJob(1), ...withCheckpoints('cut') });
  await ground.until(name, ({ SecondaryStatus }) => SecondaryStatus === 'Downloading');
  await ground.sageMaker.send(new StopTrainingJobCommand({ TrainingJobName: name }));
  expect((await ground.ended(name)).TrainingJobStatus).toBe('Stopped');
  expect(await ground.keys('cut/')).toEqual(before);
  for (const key of before) expect((await ground.get(key)).length).toBe(big.length);
});

test('interruptions lose no step that S3 holds', async () => {
  const random = seededUniform(11);
  const name = await ground.create({ ...spotJob(50, { code: '143' }), ...withCheckpoints('often') });
  for (let round = 0; round < 8; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100 + random() * 900));
    // From no time at all, which is a kill, to time enough to save.
    ground.market.reclaim(random() < 0.3 ? 0.001 : random() * 2);
  }
  // However slow this machine is, the last interruption comes after a save.
  await expect.poll(() => ground.keys('often/'), { timeout: 60_000 }).not.toEqual([]);
  ground.market.reclaim(1);
  const job = await ground.ended(name);
  expect(job.FailureReason).toBeUndefined();
  expect(job.TrainingJobStatus).toBe('Completed');
  expect(statuses(job)?.filter((status) => status === 'Interrupted').length).toBeGreaterThan(2);
  const starts = (await logOf(name))
    .map((line) => Number(/starts at (\d+)/.exec(line)?.[1]))
    .filter((at) => at >= 0);
  expect(starts).toEqual(starts.toSorted((left, right) => left - right));
  expect(starts.at(-1)).toBeGreaterThan(0);
  expect((await ground.keys('often/')).filter((key) => key.includes('step-'))).toHaveLength(50);
  // A host gives its lease back once its last process has ended, which may be after the job.
  await expect.poll(() => ground.market.leasesHeld).toBe(0);
});
