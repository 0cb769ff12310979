/** What `init` makes of a SkyPilot task. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { terminalOf } from '../../../../cli/command/terminal.ts';
import { declareJob } from '../../../../cli/init/parts.ts';
import { mayBeTask, readTasks } from '../../../../cli/init/skypilot.ts';
import { verb } from '../../../../cli/verbs/init.ts';
import { folderOfTest } from '../../../support/folders.ts';
import { writeFiles } from '../../../support/sagemaker-projects.ts';

const TASK = `
name: tune
workdir: code
num_nodes: 2
resources:
  infra: aws/us-west-2
  accelerators: L4
  cpus: 8+
  disk_size: 256GB
  use_spot: true
  labels: { team: nlp }
  ports: 8080
envs:
  SIZE: 7
  BUCKET: acme-words
  HF_TOKEN:
file_mounts:
  /words: s3://\${BUCKET}/words
  /out: { name: acme-out, mode: MOUNT }
  /outputs/ckpt: { source: s3://acme-ckpt/x, mode: MOUNT }
  /configs: ./configs
  ~/pets: ./pets
  /gone: gs://elsewhere/x
setup: |
  conda create -n a -y
  pip install -q "transformers>=4" torch==2.8.0 --index-url https://example.org/cu
  pip install datasets \\
    --extra-index-url https://example.org/more
  git clone https://example.org/x
  apt-get install ninja
run: |
  source activate/bin/activate
  echo "$SKYPILOT_NODE_RANK of \${SIZE}"
  torchrun --nnodes=$SKYPILOT_NUM_NODES \\
    --nproc_per_node 4 --standalone train.py --data /words/a --out=/outputs/ckpt --cfg "/configs/a.yaml" ~/pets
  exit $?
`;
const FILES = { 'code/train.py': 'import torch', 'configs/a.yaml': 'a: 1', 'pets/cat/1.jpg': 'x' };

async function tasksIn(text: string, names: readonly string[] = Object.keys(FILES)) {
  const folder = folderOfTest('task');
  await writeFiles(folder, { 'task.yaml': text });
  const tasks = await readTasks(path.join(folder, 'task.yaml'), 'task.yaml', names);
  return tasks.map(({ line, job }) => ({
    line,
    job,
    ...declareJob(job, { files: names, facts: undefined }),
  }));
}
const taskIn = async (text: string) => {
  const [found] = await tasksIn(text);
  if (found === undefined) throw new Error('no task was found');
  return found;
};
const namesOf = (rows: readonly { theirs: string; verdict: string }[], verdict: string) =>
  rows.filter((row) => row.verdict === verdict).map(({ theirs }) => theirs);

describe('a SkyPilot task', () => {
  it('is a valid declaration with its requirements', async () => {
    const folder = folderOfTest('init-task');
    await writeFiles(folder, { ...FILES, 'task.yaml': TASK });
    const said: string[] = [];
    const say = (text: string) => void said.push(text);
    const terminal = { ...terminalOf(process, {}), print: say, problem: say };
    await verb.invoke([], { terminal, folder, environment: {}, clone: undefined });
    const declared = parse(await readFile(path.join(folder, 'tidewheel.yaml'), 'utf8'));
    expect(declared).toMatchObject({
      'x-local': { source: 'code', dependencies: ['configs'], data: 'pets' },
      tags: { team: 'nlp' },
      packing: 'none',
      training: {
        strategy: 'ddp',
        processesPerHost: 4,
        model: 'none',
        environment: { SIZE: '7', BUCKET: 'acme-words' },
        channels: { words: { s3: 's3://acme-words/words/' }, pets: { s3: 'incoming/' } },
      },
      compute: { nodes: 2, purchaseOption: 'spot', volumeGigabytes: 256 },
    });
    expect(declared.compute.instanceTypes).toContain('g6.2xlarge');
    const [, , text] = declared.training.command;
    expect(text).toContain('echo "$SKYPILOT_NODE_RANK of $${SIZE}"');
    expect(text.split('\n').slice(-4)).toEqual([
      expect.stringContaining('of'),
      'python train.py --data $SM_CHANNEL_WORDS/a --out=$TIDEWHEEL_CHECKPOINT_DIR --cfg "$TIDEWHEEL_WORKING_DIR/configs/a.yaml" $SM_CHANNEL_PETS',
      'exit $?',
      '',
    ]);
    expect(await readFile(path.join(folder, 'code/requirements.txt'), 'utf8')).toBe(
      'transformers>=4\n--extra-index-url https://example.org/more\ndatasets\n',
    );
    expect(said.filter((each) => each.startsWith('tidewheel.yaml:'))).toEqual([]);
  });

  it('names each line that does not map', async () => {
    const { rows } = await taskIn(TASK);
    expect(namesOf(rows, 'cannot')).toEqual([
      'file_mounts: /gone',
      'setup, line 4',
      'setup, line 5',
      'resources.ports',
      'resources.infra',
      'envs: HF_TOKEN',
    ]);
    expect(rows.map(({ theirs }) => theirs)).toEqual(
      expect.arrayContaining(['setup, line 1', 'run, line 1', 'file_mounts: /out']),
    );
  });

  it.each([
    ['accelerators: H100:8', ['p5.48xlarge']],
    ['accelerators: A100-80GB:8', ['p4de.24xlarge']],
    ['accelerators: { A100: 8 }', ['p4d.24xlarge']],
    ["accelerators: [V100:8, 'A100:8']", ['p3.16xlarge', 'p4d.24xlarge']],
    ['instance_type: g5.xlarge', ['g5.xlarge']],
    ['any_of: [{ infra: gcp, accelerators: T4 }, { cloud: AWS, accelerators: V100:8 }]', ['p3.16xlarge']],
    ['accelerators: TPU-v5', []],
  ])('with %s trains on %j', async (resources, types) => {
    const { compute } = await taskIn(`resources:\n  ${resources}\nrun: python a.py`);
    expect(compute['instanceTypes']).toEqual(expect.arrayContaining(types));
    expect(types.length > 0 || compute['instanceTypes']).toSatisfy(
      (each) => each === true || each.length === 0,
    );
  });

  it.each([
    ['torchrun --master_addr=$(echo "$IPS" | head -n1) a.py -x', 'python a.py -x'],
    ['torchrun --nnodes="$(echo "$N" | wc -l)" --node_rank `echo 1` -m pkg.main', 'python -m pkg.main'],
    ['python3 -m torch.distributed.run --nproc-per-node=2 $SCRIPT', 'python $SCRIPT'],
    ['echo torchrun\nbash run.sh', 'echo torchrun\nbash run.sh'],
  ])('with %j starts %j', async (run, command) => {
    const { job } = await taskIn(JSON.stringify({ run, num_nodes: 1 }));
    expect(job.command?.[2]).toBe(`${command}\n`);
  });

  it('without accelerators trains on CPUs', async () => {
    const { compute } = await taskIn('num_nodes: 1\nrun: python a.py');
    expect(compute['instanceTypes']).toContain('c5.2xlarge');
  });

  it('with too few accelerators says what there is', async () => {
    const { rows } = await taskIn('resources: { accelerators: H100:2 }\nrun: python a.py');
    expect(rows).toContainEqual(
      expect.objectContaining({ verdict: 'unread', why: expect.stringContaining('p5.48xlarge has 8') }),
    );
  });

  it('of two nodes without torchrun runs once on each', async () => {
    const { training, rows } = await taskIn('num_nodes: 2\nrun: accelerate launch a.py');
    expect(training).toMatchObject({ strategy: 'ddp', processesPerHost: 1 });
    expect(namesOf(rows, 'unread')).toContain('run');
  });

  it.each(['../secrets', '/etc', '~/.ssh', 'a/../../b', 'nowhere'])(
    'takes nothing from %s',
    async (place) => {
      const { job, rows } = await taskIn(
        JSON.stringify({ workdir: place, file_mounts: { '/x': place }, run: 'y' }),
      );
      expect(job.dependencies).toEqual([]);
      expect(namesOf(rows, 'cannot')).toEqual(['workdir', 'file_mounts: /x']);
    },
  );

  it('of a whole bucket asks for a prefix', async () => {
    const { training, rows } = await taskIn('file_mounts: { /data: s3://acme }\nrun: python a.py');
    expect(training['channels']).toEqual({ data: { s3: 'incoming/data/' } });
    expect(namesOf(rows, 'unread')).toContain('inputs: data');
  });

  it('is one of several in a file', async () => {
    const tasks = await tasksIn('name: both\n---\nname: a\nrun: x\n---\nname: b\nrun: y\n');
    expect(tasks.map(({ line }) => line)).toEqual(['line 3', 'line 6']);
  });

  it('is no other YAML', () => {
    expect(mayBeTask(TASK)).toBe(true);
    for (const text of ['name: a\ntraining: {}\nrun: x\nresources: {}', 'a: 1', 'run: x'])
      expect(mayBeTask(text)).toBe(false);
  });

  it.each([
    'a: [',
    'run: &a [*a, *a]\nworkdir: x',
    `run: x\nenvs: 3\nresources: [1]\nfile_mounts: x\nsetup: [1]`,
  ])('of the form %j does no harm', async (text) => {
    const read = await tasksIn(text).then(
      (tasks) => tasks.length,
      (error: unknown) => String(error),
    );
    expect(read).toSatisfy((each) => each === 0 || each === 1 || /cannot be read/.test(String(each)));
  });
});
