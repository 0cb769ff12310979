/** Pipelines that need no digits, in a region beside that of drop-to-model.test.ts. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { type ApiClient, apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { environmentFor } from '@tidewheel/emulators/region/clients.ts';
import { defaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoDeclaration, uploadSource } from '../../cli/demo/demo.ts';
import { STEPS } from '../../cli/first-day/steps.ts';
import type { RunReport } from '../../functions/run/attempts/make-report.ts';
import { finishedRun, PROJECT_FOLDER, startTestRegion, type TestRegion } from '../support/region.ts';
import { FIRST_DAY_REPORT, playShort } from './first-day.ts';
import { GOT, putTyped, TYPED } from './typed.ts';

const run = promisify(execFile);

let test: TestRegion;
let api: ApiClient;

beforeAll(async () => {
  // The first checkpoint in S3 brings the interruption.
  test = await startTestRegion('demo:2');
  const { clients, stack } = test.region;
  api = apiClient(test.region);
  await uploadSource({ s3: clients.s3, bucket: stack.bucket, projectFolder: PROJECT_FOLDER });
}, 240_000);

afterAll(async () => {
  await test.stop();
});

describe('a script that starts as typed', () => {
  it('gets its arguments, its checkpoint, then its model', async () => {
    const { clients, stack, endpoints, credentials } = test.region;
    const digits = await demoDeclaration(PROJECT_FOLDER, await defaultVpc(clients.ec2));
    const declared = await api.call(
      'PUT',
      `/pipelines/${TYPED}`,
      await putTyped(clients.s3, stack.bucket, digits),
    );
    expect(declared).toMatchObject({ status: 200 });
    await api.call('POST', `/pipelines/${TYPED}/runs`);
    const { status, attempts } = await finishedRun(api, `${TYPED}-000001`);
    expect({ status, attempts: attempts.map(({ outcome }) => outcome) }).toEqual({
      status: 'succeeded',
      attempts: ['interrupted', 'completed'],
    });

    const environment = { ...environmentFor(endpoints, credentials), TIDEWHEEL_TABLE: stack.table };
    const env = { PATH: process.env['PATH'], ...environment };
    const tidewheel = async (...words: string[]) =>
      (await run(process.execPath, ['cli/tidewheel.mjs', ...words], { cwd: PROJECT_FOLDER, env })).stdout;
    const stdout = await tidewheel('logs', `${TYPED}-000001`);
    expect(stdout.match(/^── attempt \d(?: ended \(\w+\)| completed)?/gm)).toEqual([
      '── attempt 1',
      '── attempt 1 ended (interrupted)',
      '── attempt 2',
      '── attempt 2 completed',
    ]);
    // The next run begins from what this one has left, and takes its place.
    await api.call('POST', `/pipelines/${TYPED}/runs`);
    const { startedFrom, timeline } = await finishedRun(api, `${TYPED}-000002`);
    expect(startedFrom).toMatchObject({
      runId: `${TYPED}-000001`,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(timeline.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['StartsFrom', 'ModelPromoted']));
    const next = await tidewheel('logs', `${TYPED}-000002`);
    expect(next).toMatch(/^\S+ BEGINS done$/m);
    const got = [...`${stdout}${next}`.matchAll(/^\S+ GOT (.+)$/gm)].map(([, json = '']): unknown =>
      JSON.parse(json),
    );
    expect(got).toEqual(GOT);
    const { Body } = await clients.s3.send(
      new GetObjectCommand({ Bucket: stack.bucket, Key: bucketKeys.currentModel(TYPED) }),
    );
    expect(JSON.parse((await Body?.transformToString()) ?? '')).toMatchObject({
      current: { runId: `${TYPED}-000002` },
    });
    expect(await tidewheel('model', 'rollback', TYPED, '--reason', 'its labels are wrong')).toContain(
      `the model of ${TYPED}-000001 is in use`,
    );
    expect(await tidewheel('model', 'show', `${TYPED}-000002`)).toMatch(/: rejected\n.*its labels are wrong/);
  }, 240_000);
});

describe('small drops', () => {
  it('are joined into one generation after sealing', async () => {
    const { clients, stack } = test.region;
    const put = (Key: string, Body: string | Uint8Array) =>
      clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body }));
    const declaration = await demoDeclaration(PROJECT_FOLDER, await defaultVpc(clients.ec2));
    // Nothing is to be trained: no attempt is as cheap as that.
    const crumbs = declaration
      .replace('name: digits', 'name: crumbs')
      .replace('quietSeconds: 4', 'quietSeconds: 1')
      .replace('budgetUsd: 5', 'budgetUsd: 0.000001')
      .replace('tuning:', 'tuning:\n  dataset: { compactAfter: 2 }');
    await put('pipelines/crumbs.yaml', crumbs);
    let last: RunReport | undefined;
    for (const batch of [1, 2]) {
      for (const index of [1, 2, 3])
        await put(
          `crumbs/incoming/${index}/${batch}.png`,
          Buffer.concat([PNG, Buffer.from(`${batch}${index}`)]),
        );
      last = await finishedRun(api, `crumbs-00000${batch}`);
    }
    const compacted = last?.timeline.find(({ kind }) => kind === 'DatasetCompacted');
    expect(compacted?.text).toMatch(
      /^2 generations joined into crumbs-000002-c[0-9a-f]{8}: 6 samples in 1 shard$/,
    );
    const Key = 'crumbs/dataset/versions/00000003.json';
    const { Body } = await clients.s3.send(new GetObjectCommand({ Bucket: stack.bucket, Key }));
    const version = JSON.parse((await Body?.transformToString()) ?? '') as { generations: string[] };
    expect(version).toMatchObject({
      change: { kind: 'compacted', replaced: ['crumbs-000001', 'crumbs-000002'] },
      generations: [expect.stringMatching(/^crumbs-000002-c/) as string],
    });
  }, 240_000);
});

/** As far as packing looks into an image. */
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

describe('the first day', () => {
  it('is played and reported', async () => {
    const { endpoints, credentials, stack } = test.region;
    const environment = environmentFor(endpoints, credentials);
    const folder = await mkdtemp(join(tmpdir(), 'first-day-'));
    const words = 'check --trial --yes --only 1,3,5,6,7,8,9'.split(' ');
    const command = ['cli/tidewheel.mjs', ...words, '--folder', folder];
    const options = { cwd: PROJECT_FOLDER, env: { PATH: process.env['PATH'], ...environment } };
    try {
      const [{ stdout }, short] = await Promise.all([
        run(process.execPath, command, options),
        playShort(environment),
      ]);
      expect(stdout).toContain(`report: ${join(folder, 'report.md')}`);
      const found = await readFile(join(folder, 'report.json'), 'utf8');
      const { results } = FIRST_DAY_REPORT.parse(JSON.parse(found));
      expect(results.map(({ number, outcome }) => [number, outcome])).toEqual([
        [1, 'asExpected'],
        [3, 'notPossibleHere'],
        [5, 'notPossibleHere'],
        [6, 'notPossibleHere'],
        [7, 'byHand'],
        [8, 'asExpected'],
        [9, 'byHand'],
      ]);
      const report = await readFile(join(folder, 'report.md'), 'utf8');
      expect(report.match(/^\| \d\. /gm)).toHaveLength(STEPS.length);
      expect(report).not.toContain(stack.bucket);
      expect(short.lines[0]).toContain('samples sealed: 20, attempts: 1, interruptions: 0');
      expect(short).toMatchObject({ number: 2, outcome: 'asExpected' });
      const kept = join(folder, 'results.json');
      await writeFile(kept, (await readFile(kept, 'utf8')).replace('"stage": "dev"', '"stage": "other"'));
      const refused = {
        code: 8,
        stderr: expect.stringMatching(/^✗ --folder is ".+stage other in us-east-1/m),
      };
      await expect(run(process.execPath, command, options)).rejects.toMatchObject(refused);
    } finally {
      await rm(folder, { recursive: true });
    }
  }, 180_000);
});

describe('a declaration that cannot be used', () => {
  it('fails its run and keeps the data', async () => {
    const { clients, stack } = test.region;
    const put = (Key: string, Body: string) =>
      clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body }));
    await put('pipelines/broken.yaml', 'name: broken\nsettle: {quietSeconds: 1}\n');
    await put('broken/incoming/a.txt', 'data');
    const failed = await finishedRun(api, 'broken-000001');
    expect(failed).toMatchObject({ status: 'failed' });
    expect(failed.failure).toMatch(/training/);
  }, 120_000);
});
