/** A Pipe for each process of a host: what the launch asks for, served by the local SageMaker to real processes. */
import { beforeAll, expect, test } from 'vitest';
import { jobChannels } from '../../../../functions/launch/job/job-channels.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { type Ground, layGround } from '../../../../test/support/local-sagemaker.ts';

const emulator = emulatorOfSuite();
let ground: Ground;

beforeAll(async () => {
  ground = await layGround(emulator.url);
  return () => ground.close();
});

const PROCESSES = 2;
const SHARDS = Array.from({ length: 7 }, (_, index) => `${index}.txt`);
/** Of another split of the same samples, with Pipes of its own. */
const MEASURED = ['7.txt', '8.txt', '9.txt'];
const NAMES = ['train', 'train-1', 'validation', 'validation-1'];

/** Two processes, each the only reader of its Pipe, over two epochs; what they read goes into the merged output. */
const READ = `
import json, os, pathlib, subprocess, sys
base = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])
if len(sys.argv) > 1 and sys.argv[1] == 'reader':
    parts = [open(base / f'input/data/{sys.argv[2]}_{epoch}').read().split() for epoch in range(2)]
    host = json.loads((base / 'input/config/resourceconfig.json').read_text())['current_host']
    (base / 'output/data' / f'{host}-{sys.argv[2]}.json').write_text(json.dumps(parts))
else:
    names = ${JSON.stringify(NAMES)}
    readers = [subprocess.Popen([sys.executable, __file__, 'reader', name]) for name in names]
    sys.exit(max(reader.wait() for reader in readers))
`;

async function readsOfTwoHosts() {
  const run = 'digits-000001';
  const folder = `digits/dataset/${run}/shards/`;
  const parts = { train: SHARDS, validation: MEASURED } as const;
  for (const [split, shards] of Object.entries(parts))
    for (const shard of shards) await ground.put(`${folder}${split}/${shard}`, `${shard} `);
  const { channels, objects } = jobChannels({
    bucket: ground.bucket,
    pipeline: 'digits',
    runId: run,
    generations: (['train', 'validation'] as const).map((split) => ({
      split,
      shardsPrefix: `${folder}${split}/`,
      shards: parts[split],
      totals: { shards: parts[split].length, bytes: 100 },
    })),
    sourceUri: '',
    agentPrefix: '',
    inputMode: 'Pipe',
    processesPerHost: PROCESSES,
    shuffleSeed: 7,
    distribution: 'ShardedByS3Key',
  });
  for (const { key, text } of objects) await ground.put(key, text);
  const name = await ground.create({
    script: READ,
    OutputDataConfig: { S3OutputPath: `s3://${ground.bucket}/models/`, CompressionType: 'NONE' },
    ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: 2, VolumeSizeInGB: 1 },
    InputDataConfig: channels.filter(({ InputMode }) => InputMode === 'Pipe'),
  });
  expect((await ground.ended(name)).FailureReason).toBeUndefined();
  const keys = await ground.keys(`models/${name}/output/output/`);
  const readOf = (split: string) =>
    Promise.all(
      keys
        .filter((key) => key.includes(`-${split}`))
        .map(async (key) => JSON.parse((await ground.get(key)).toString()) as [string[], string[]]),
    );
  return { read: await readOf('train'), measured: await readOf('validation') };
}

const sorted = (names: readonly string[]): string[] => names.toSorted((a, b) => a.localeCompare(b));

test('divided shards are read once an epoch', async () => {
  const { read, measured } = await readsOfTwoHosts();
  expect(read).toHaveLength(2 * PROCESSES);
  for (const epoch of [0, 1] as const) {
    expect(sorted(read.flatMap((epochs) => epochs[epoch]))).toEqual(SHARDS);
    expect(sorted(measured.flatMap((epochs) => epochs[epoch]))).toEqual(MEASURED);
  }
});
