/**
 * Drops whose models are scored by a script beside the model in use, on earlier samples and on those that came since.
 * A host that is killed in the evaluation costs the evaluation, which runs again alone; people ask for one, too.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { bucketKeys, keyOfUri, probeIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { type ApiClient, apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { controlClient } from '@tidewheel/emulators/region/control-client.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { demoDeclaration } from '../../cli/demo/demo.ts';
import type { RunRecord, TimelineEntry } from '../../functions/records/run-records.ts';
import {
  finishedRun,
  PROJECT_FOLDER,
  startTestRegion,
  type TestRegion,
  tidewheelIn,
} from '../support/region.ts';

const NAME = 'pets';
/** Trains only where it has to. */
const THRIFTY = 'birds';
const runId = (batch: number, name = NAME) => `${name}-00000${batch}`;

const READER = `
import os, pathlib, tarfile
def samples(channel):
    for path in sorted(pathlib.Path(os.environ['SM_CHANNEL_' + channel]).rglob('*.tar')):
        with tarfile.open(path) as shard:
            for member in shard:
                if member.name.endswith('.txt'):
                    yield member.name, shard.extractfile(member).read().decode().split()[0]
`;
/** The model is the classes that it or the model before has seen. */
const TRAIN = `
import os, pathlib
from reader import samples
before = pathlib.Path(os.environ.get('SM_CHANNEL_MODEL', ''), 'classes')
known = before.read_text().split() if before.exists() else []
seen = [of for _, of in samples('TRAIN')]
print('trains on', len(seen), 'of', ' '.join(sorted(set(seen))), flush=True)
pathlib.Path(os.environ['SM_MODEL_DIR'], 'classes').write_text(' '.join({*known, *seen}))
`;
const EVALUATE = `
import os, pathlib, tidewheel
from reader import samples
known = pathlib.Path(os.environ['SM_CHANNEL_MODEL'], 'classes').read_text().split()
for key, of in samples('VALIDATION'):
    tidewheel.score(key, accuracy=of in known, label=of)
`;
/** Not alone. */
const SLOW = `${EVALUATE}
import time
print('scoring', flush=True)
time.sleep(0 if '-probe-' in os.environ['TIDEWHEEL_RUN_ID'] else 300)
`;

interface Answer {
  readonly run: Pick<RunRecord, 'reads'>;
  readonly timeline: readonly TimelineEntry[];
}

let test: TestRegion;
let api: ApiClient;

beforeAll(async () => {
  test = await startTestRegion('calm');
  api = apiClient(test.region);
  const files = { 'reader.py': READER, 'train.py': TRAIN, 'evaluate.py': EVALUATE };
  for (const name of [NAME, THRIFTY])
    for (const [file, text] of Object.entries(files)) await put(bucketKeys.source(name) + file, text);
  await declare('sagemaker');
}, 600_000);

afterAll(() => test.stop());

async function declare(
  launcher: 'sagemaker' | 'ec2',
  { name = NAME, ...training }: { name?: string; when?: object } = {},
): Promise<void> {
  const demo = parse(
    await demoDeclaration(PROJECT_FOLDER, await defaultVpc(test.region.clients.ec2), launcher),
  );
  const declaration = stringify({
    ...demo,
    name,
    settle: { quietSeconds: 2 },
    packing: { accept: ['.txt'], label: 'none', split: { train: 0.5, validation: 0.5 } },
    training: {
      strategy: 'single',
      framework: 'pytorch',
      frameworkVersion: '2.13',
      objective: { metric: 'accuracy', mode: 'max' },
      startFrom: 'current',
      ...training,
    },
    dataset: { read: { new: 'all', replay: '30 %' } },
    evaluation: { entryPoint: 'evaluate.py' },
    promote: { whenBetterBy: 0 },
    compute: { ...demo.compute, nodes: 1 },
  });
  expect(await api.call('PUT', `/pipelines/${name}`, declaration)).toMatchObject({ status: 200 });
}

async function put(Key: string, Body: string): Promise<void> {
  const { clients, stack } = test.region;
  await clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body }));
}

async function text(Key: string): Promise<string> {
  const { clients, stack } = test.region;
  const { Body } = await clients.s3.send(new GetObjectCommand({ Bucket: stack.bucket, Key }));
  return (await Body?.transformToString()) ?? '';
}

async function drop(classes: readonly string[], { name = NAME, first = 0 } = {}): Promise<void> {
  const files = classes.flatMap((of) => Array.from({ length: 20 }, (_, k) => ({ of, k: first + k })));
  await Promise.all(
    files.map(({ of, k }) => put(`${bucketKeys.incoming(name)}${of}/${k}.txt`, `${of} ${k}`)),
  );
}

const judgement = async (batch: number): Promise<unknown> =>
  JSON.parse(await text(bucketKeys.judgement(NAME, runId(batch))));

const inUse = async (name = NAME): Promise<unknown> => JSON.parse(await text(bucketKeys.currentModel(name)));

it('both models are judged on old and new samples', async () => {
  await drop(['cat', 'dog']);
  expect(await finishedRun(api, runId(1))).toMatchObject({ status: 'succeeded' });
  expect(await judgement(1)).toMatchObject({ verdict: 'first', mean: 1 });
  await drop(['bee', 'elk', 'fox']);
  expect(await finishedRun(api, runId(2))).toMatchObject({ status: 'succeeded' });
  expect(await judgement(2)).toMatchObject({
    verdict: 'better',
    against: runId(1),
    earlier: { mean: 1, current: 1, better: 0, sides: { gained: 0, lost: 0 } },
    fresh: { mean: 1, current: 0, better: 1, sides: { lost: 0 } },
    byLabel: expect.arrayContaining([expect.objectContaining({ label: 'elk', candidate: 1, current: 0 })]),
  });
  expect(await inUse()).toMatchObject({ current: { runId: runId(2) }, former: { runId: runId(1) } });
  const { run, timeline } = (await api.call('GET', `/runs/${runId(2)}`)).body as Answer;
  const { reads } = run;
  expect(reads).toMatchObject({ drawn: expect.stringMatching(/^pets-000002-r/), whole: [runId(2)] });
  expect(timeline.map(({ text }) => text)).toContain(
    `trains on ${reads?.new} samples that are new since pets-000001, and on ${reads?.replayed} (30 %) of ${reads?.earlier} earlier ones`,
  );
  expect(await tidewheelIn(test, test.stateDirectory, ['model', 'show', runId(2)])).toMatch(
    /^scores +accuracy 1, .*\n +earlier +\d+ samples: 1, 0.*\n +new +\d+ samples: 1, \+1/m,
  );
}, 600_000);

it('a model is scored once on the same samples', async () => {
  await api.call('POST', `/pipelines/${NAME}/runs`);
  expect(await finishedRun(api, runId(3))).toMatchObject({ status: 'succeeded' });
  const { body } = await api.call('GET', `/runs/${runId(3)}`);
  expect(body).toMatchObject({ run: { evaluation: { set: expect.stringMatching(/^[0-9a-f]{64}$/) } } });
  expect(body).not.toHaveProperty('run.evaluation.current');
  expect(await judgement(3)).toMatchObject({ verdict: 'inconclusive', difference: { better: 0 } });
  const { timeline } = body as Answer;
  expect(timeline.map(({ text }) => text)).toContain('trains on all samples: none is new since pets-000002');
}, 600_000);

it.each([
  [4, 'sagemaker', 1],
  [5, 'ec2', 2],
] as const)(
  'run %d, killed on %s, is evaluated again alone',
  async (batch, launcher, number) => {
    await declare(launcher);
    await put(`${bucketKeys.source(NAME)}evaluate.py`, SLOW);
    await api.call('POST', `/pipelines/${NAME}/runs`);
    const control = await controlClient(test.stateDirectory);
    const uploaded = bucketKeys.finished(NAME, runId(batch), 1);
    for (let look = 0; look < 240 && !(await isThere(uploaded)); look += 1) await sleep(500);
    await control.strike({ run: runId(batch), kill: true, host: undefined });
    const { status, modelUri = '', attempts } = await finishedRun(api, runId(batch));
    expect({ status, attempts: attempts.length }).toEqual({ status: 'succeeded', attempts: 1 });
    expect(keyOfUri(test.region.stack.bucket, modelUri)).toBe(
      bucketKeys.finishedModel(NAME, runId(batch), 1),
    );
    expect(await judgement(batch)).toMatchObject({
      verdict: 'inconclusive',
      reasons: [expect.stringMatching(/^its evaluation is missing: /)],
    });
    const probe = probeIdOf(NAME, number);
    expect(await finishedRun(api, probe)).toMatchObject({ status: 'succeeded', attempts: [{}] });
    const { body } = await api.call('GET', `/pipelines/${NAME}/models`);
    expect(body).toMatchObject({
      models: expect.arrayContaining([
        expect.objectContaining({
          runId: runId(batch),
          state: 'candidate',
          by: probe,
          judged: expect.objectContaining({ verdict: 'inconclusive', against: runId(2), better: 0 }),
        }),
      ]),
    });
    expect(await inUse()).toMatchObject({ current: { runId: runId(2) } });
  },
  600_000,
);

it('a person has a former model scored', async () => {
  const said = await tidewheelIn(test, test.stateDirectory, ['evaluate', runId(1)]);
  expect(said).toMatch(/^scores +accuracy 0\..*, -0\..* against pets-000002 on/m);
}, 600_000);

it('a run trains where its drop is unlike others', async () => {
  const when = { worseBy: '5 %', orSamples: 1_000 };
  await declare('sagemaker', { name: THRIFTY, when });
  const ended = async (batch: number) => {
    const { status } = await finishedRun(api, runId(batch, THRIFTY));
    return { status, ...((await api.call('GET', `/runs/${runId(batch, THRIFTY)}`)).body as object) };
  };
  await drop(['cat', 'dog'], { name: THRIFTY });
  expect(await ended(1)).toMatchObject({ status: 'succeeded', run: { need: { isNeeded: true } } });
  await drop(['cat', 'dog'], { name: THRIFTY, first: 20 });
  const scores = { metric: 'accuracy', model: runId(1, THRIFTY), samples: 40, mean: 1, known: 1 };
  const need = { isNeeded: false, since: 40, scores };
  expect(await ended(2)).toMatchObject({
    status: 'notNeeded',
    attempts: [],
    run: { need },
    report: { status: 'notNeeded', need, costUsd: 0, deadline: { met: null } },
  });
  expect(await tidewheelIn(test, test.stateDirectory, ['runs', THRIFTY])).toMatch(
    /^birds-000002 +notNeeded .* accuracy of the model in use is 1 on 40 samples that arrived, and was 1 on/m,
  );
  await drop(['gnu', 'owl'], { name: THRIFTY });
  expect(await ended(3)).toMatchObject({
    status: 'succeeded',
    attempts: [{}],
    run: { need: { isNeeded: true, since: 80, scores: { ...scores, mean: 0 } } },
  });
  expect(await inUse(THRIFTY)).toMatchObject({ current: { runId: runId(3, THRIFTY) } });
}, 600_000);

const isThere = (key: string): Promise<boolean> =>
  text(key).then(
    () => true,
    () => false,
  );
