/** `tidewheel data` against a real S3 server. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { keyVariables } from '@tidewheel/emulators/access/access-key.ts';
import { unpackArchive } from '@tidewheel/packing/bundles.ts';
import { sealDataset } from '@tidewheel/packing/seal.ts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { endingOf } from '../../../cli/command/exit.ts';
import { terminalOf } from '../../../cli/command/terminal.ts';
import { verb } from '../../../cli/verbs/data.ts';
import { type OpenStore, openBlobStore } from '../../../functions/aws/s3/open-store.ts';
import { datasetOf } from '../../../functions/records/run-dataset.ts';
import { zipFile } from '../../support/builders/archives.ts';
import { packAll, packPipeline, planAndPack, settings } from '../../support/builders/packing.ts';
import { runOf as recordOf } from '../../support/builders/records.ts';
import { differences, documentedShapes } from '../../support/documented.ts';
import {
  clientConfiguration,
  startTestEmulator,
  TEST_KEY,
  type TestEmulator,
} from '../../support/emulator.ts';
import { objectStoreOf } from '../../support/test-bucket.ts';

const BUCKET = 'dataset-commands';
const PIPELINE = 'digits';
const ADDRESS = `s3://${BUCKET}/${PIPELINE}`;
const FILE = path.join(import.meta.dirname, '../../../cli/tidewheel.mjs');
const run = promisify(execFile);
const runOf = (batch: number): string => `${PIPELINE}-${String(batch).padStart(6, '0')}`;
const DECLARATION = `name: ${PIPELINE}\ntraining: { strategy: single }\ncompute: { instanceTypes: [g5.xlarge] }\n`;

let emulator: TestEmulator;
let client: S3Client;
let opened: OpenStore;

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

/** Runs the command in this process, because starting another takes longer than most of the work. */
async function dataset(...words: readonly string[]): Promise<Ended> {
  const said = { output: '', errors: '' };
  const keep = (stream: NodeJS.WriteStream, into: keyof typeof said) =>
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      said[into] += String(text);
      return true;
    });
  const spies = [keep(process.stdout, 'output'), keep(process.stderr, 'errors')];
  const terminal = terminalOf(process, {});
  const surroundings = { terminal, folder: '/', environment: {}, clone: undefined };
  try {
    const code = await endingOf(() => verb.invoke(words, surroundings), terminal);
    return { code, ...said };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

async function drop(batch: number, over = true): Promise<void> {
  const { store } = opened;
  for (let index = 0; index < 4; index += 1)
    await store.put(
      `${bucketKeys.incoming(PIPELINE)}${batch}/ü ${index}+.jpg`,
      Buffer.from(`${batch} ${index}`),
    );
  await packAll(store, settings(), runOf(batch));
  if (over) await store.put(bucketKeys.report(PIPELINE, runOf(batch)), Buffer.from('{}'));
}

const declare = (more = '') =>
  opened.store.put(bucketKeys.pipeline(PIPELINE), Buffer.from(`${DECLARATION}${more}`));

beforeAll(async () => {
  emulator = await startTestEmulator();
  const configuration = clientConfiguration(emulator.url);
  vi.stubEnv('AWS_ENDPOINT_URL', emulator.url);
  vi.stubEnv('AWS_REGION', 'us-east-1');
  for (const [name, value] of Object.entries(keyVariables(TEST_KEY))) vi.stubEnv(name, value);
  client = new S3Client({ ...configuration, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }));
  const { endpoint, region, credentials } = configuration;
  opened = await openBlobStore({
    bucket: BUCKET,
    endpoint,
    region,
    credentials: () => Promise.resolve(credentials),
  });
}, 120_000);

afterAll(async () => {
  client.destroy();
  await opened[Symbol.asyncDispose]();
  await emulator.stop();
});

describe('tidewheel data', () => {
  it('prints its usage and all usage errors at once', async () => {
    const help = await run(process.execPath, [FILE, 'data', '--help']);
    expect(help.stderr).toBe('');
    const commands = [
      'list',
      'versions',
      'contents',
      'compare',
      'pin',
      'verify',
      'compact',
      'retract',
      'repair',
      'prune',
    ];
    for (const word of [...commands, '--dry-run']) expect(help.stdout).toContain(word);
    const wrong = await dataset('prnue', 'Digits_1', '--dry-run', '--over', 'x');
    expect(wrong.code).toBe(8);
    for (const problem of [
      'there is no command "prnue"',
      '"Digits_1" names no dataset',
      '--over belongs to prune',
    ])
      expect(wrong.errors).toContain(problem);
    expect((await dataset('prune', ADDRESS)).errors).toContain('either GENERATION');
    const misplaced = await dataset('list', ADDRESS, '--samples', '0', '--out', 'page.html');
    expect(misplaced.errors).toContain('--samples is "0": write a whole number from 1 to 10000');
    expect((await dataset('list', ADDRESS, '--samples', '9', '--out', 'x')).errors).toMatch(
      /--out belongs to show and sample[^]*--samples belongs to show and find/,
    );
  });

  it('reports an empty bucket', async () => {
    expect(await dataset('list', ADDRESS)).toMatchObject({
      code: 0,
      output: expect.stringContaining('nothing is sealed') as string,
    });
    expect((await dataset('versions', ADDRESS)).output).toContain('has no version yet');
    expect(await dataset('verify', ADDRESS)).toMatchObject({
      code: 1,
      errors: expect.stringMatching(
        /nothing is sealed .* no pipeline has a dataset in this bucket/,
      ) as string,
    });
    expect((await dataset('pin', ADDRESS, runOf(1))).errors).toContain('nothing is sealed under');
    expect((await dataset('prune', ADDRESS, runOf(1))).errors).toContain('no sealed generation yet');
    expect((await dataset('compact', ADDRESS)).errors).toContain('put the declaration there first');
    expect((await dataset('list', 's3://nobodys-bucket/digits')).errors).toMatch(
      /^✗ there is no bucket "nobodys-bucket" at http.*AWS_ENDPOINT_URL/,
    );
  });

  it('reports, shows, finds and reads samples', async () => {
    const address = `s3://${BUCKET}/looks`;
    const incoming = bucketKeys.incoming('looks');
    await opened.store.put(`${incoming}cat/1.txt`, Buffer.from('a <b>cat</b>'));
    await opened.store.put(`${incoming}dog/2.txt`, Buffer.from('a dog'));
    const run = { runId: 'looks-000001', pipeline: 'looks', packing: settings() };
    await packPipeline(opened.store, run);
    const report = await dataset('report', address);
    expect(report.output).toMatch(
      /^looks-000001 {2}2 samples, 0 duplicates, 0 rejected {2}s3:.*report\.html$/m,
    );
    expect((await dataset('release', address, run.runId)).output).toContain('is not held back');
    expect((await dataset('find', address, 'label:dog')).output).toMatch(/dog\/2\.txt {2}dog\n$/);
    expect((await dataset('find', address, 'bird')).code).toBe(1);
    const folder = mkdtempSync(path.join(tmpdir(), 'looks-'));
    const sample = await dataset('sample', address, 'cat/1.txt', '--out', folder);
    expect(sample.output).toContain('12 bytes  lines 1, tokens 2');
    expect(readFileSync(path.join(folder, 'cat/1.txt'), 'utf8')).toBe('a <b>cat</b>');
    const page = path.join(folder, 'new/page.html');
    expect((await dataset('show', address, '--out', page)).output).toContain('2 samples of looks-000001');
    expect(readFileSync(page, 'utf8')).toContain('a &lt;b&gt;cat&lt;/b&gt;');
    rmSync(folder, { recursive: true });
  });

  it('prints one document with --json', async () => {
    const address = `s3://${BUCKET}/papers`;
    const found = async (command: string, ...words: readonly string[]): Promise<unknown> => {
      const { code, output, errors } = await dataset(command, address, ...words, '--json');
      expect([code, errors]).toEqual([0, '']);
      const document: unknown = JSON.parse(output);
      const unlike = documentedShapes(`data ${command}`).map((shape) => differences(document, shape));
      expect(unlike.find((each) => each.length === 0) ?? unlike).toEqual([]);
      return document;
    };
    expect(await found('list')).toEqual({ pipeline: 'papers', generations: [] });
    const declaration = DECLARATION.replace(PIPELINE, 'papers');
    await opened.store.put(bucketKeys.pipeline('papers'), Buffer.from(declaration));
    const names = ['papers-000001', 'papers-000002'];
    for (const runId of names) {
      await opened.store.put(`${bucketKeys.incoming('papers')}${runId}.txt`, Buffer.from(runId));
      await packPipeline(opened.store, { runId, pipeline: 'papers', packing: settings() });
      await opened.store.put(bucketKeys.report('papers', runId), Buffer.from('{}'));
    }
    const [first = '', second = ''] = names;
    const folder = mkdtempSync(path.join(tmpdir(), 'papers-'));
    const file = path.join(folder, 'page.html');
    const one = { generation: first, shard: 'shard-000000.tar' };
    const key = `${bucketKeys.incoming('papers')}${second}.txt`;
    expect(await found('list')).toMatchObject({
      generations: names.map((name) => ({ name, state: 'sealed', shards: 1, samples: 1, rejected: 0 })),
    });
    expect(await found('versions')).toMatchObject({
      versions: [{ number: 1, kind: 'sealed', changed: [first] }, { generations: names }],
    });
    expect(await found('contents', first)).toMatchObject({ generations: [first], objects: [one] });
    expect(await found('compare', first)).toMatchObject({ added: [key], replaced: [], objects: 2 });
    expect(await found('pin', first)).toMatchObject({ pin: first, generations: [first] });
    expect(await found('verify')).toMatchObject({
      generations: names.map((generation) => ({ generation, shards: 1, members: 1, problems: [] })),
    });
    expect(await found('report', first)).toMatchObject({ reports: [{ generation: first, samples: 1 }] });
    expect(await found('release', first)).toMatchObject({ generation: first, wasHeld: false });
    expect(await found('find', 'papers', '--samples', '1')).toMatchObject({ samples: [one], isMore: true });
    expect(await found('sample', key)).toMatchObject({ generation: second, members: [{ key, size: 13 }] });
    expect(await found('show', '--out', file)).toMatchObject({ file, samples: 2, generations: names });
    rmSync(folder, { recursive: true });
    expect(await found('compact', '--dry-run')).toMatchObject({ status: 'wouldCompact', of: names });
    expect(await found('compact')).toMatchObject({ status: 'compacted', of: names, samples: 2 });
    expect(await found('retract', key)).toMatchObject({ retracted: [key] });
    expect(await found('prune', '--replaced', '--dry-run')).toMatchObject({ status: 'wouldPrune' });
    expect(await found('prune', '--replaced')).toMatchObject({ status: 'pruned' });
  }, 60_000);

  it('lists, pins, compacts, verifies and prunes', async () => {
    await declare();
    for (const batch of [1, 2, 3]) await drop(batch);
    expect((await dataset('list', ADDRESS)).output.match(/ {2}sealed {2}1 shard, 4 samples/g)).toHaveLength(
      3,
    );
    expect((await dataset('pin', ADDRESS, runOf(2))).output).toContain(`dataset:\n  pin: ${runOf(2)}`);
    expect((await dataset('pin', ADDRESS, runOf(7))).code).toBe(1);

    expect((await dataset('compact', ADDRESS, '--dry-run')).output).toContain('would be joined into 1 shard');
    const compacted = await dataset('compact', ADDRESS);
    expect(compacted).toMatchObject({ code: 0, errors: '' });
    const name = /joined into (\S+):/.exec(compacted.output)?.[1] ?? '';
    expect(name).toMatch(/^digits-000003-c[0-9a-f]{8}$/);
    expect((await dataset('compact', ADDRESS)).output).toContain('no two small generations');
    expect((await dataset('versions', ADDRESS)).output.split('\n')[3]).toContain(`compacted ${name} of`);
    const verified = await dataset('verify', ADDRESS);
    expect(verified.output.match(/: intact; /g)).toHaveLength(4);
    expect(verified.code).toBe(0);

    await declare(`dataset: { pin: ${runOf(2)} }\n`);
    expect(await dataset('prune', ADDRESS, '--replaced')).toMatchObject({
      code: 1,
      errors: expect.stringContaining(`pins ${runOf(2)}, which holds ${runOf(1)}, ${runOf(2)}`) as string,
    });
    await declare();
    const would = await dataset('prune', ADDRESS, '--replaced', '--dry-run');
    expect(would.output).toMatch(/^9 objects \(\d+ bytes\) of digits-000001, .* would be deleted/);
    expect((await dataset('prune', ADDRESS, '--replaced')).output).toMatch(/^9 objects/);
    expect((await dataset('prune', ADDRESS, '--replaced')).output).toContain('nothing to delete');
    expect((await dataset('list', ADDRESS)).output.match(/ {2}pruned/g)).toHaveLength(3);
    expect(await dataset('verify', ADDRESS, name)).toMatchObject({ code: 0 });
    expect(await packAll(opened.store, settings(), runOf(4))).toMatchObject({ samples: 0, rejected: 0 });
  }, 120_000);

  it('deletes nothing that a run reads', async () => {
    await drop(5, false);
    const control = objectStoreOf(client, BUCKET);
    const { generations } = await datasetOf(control, recordOf(PIPELINE, 5));
    expect(generations).toHaveLength(2);
    const refused = await dataset('prune', ADDRESS, runOf(5));
    expect(refused.errors).toContain(`${runOf(5)} reads ${generations[0]}`);
    expect(refused.errors).toContain('nothing was deleted');
    const over = [runOf(4), runOf(5)].join(',');
    expect((await dataset('prune', ADDRESS, runOf(5), '--over', over)).code).toBe(0);
    expect((await dataset('versions', ADDRESS)).output).toMatch(/pruned .* = digits-000005\n$/);
  }, 60_000);

  it('retracts the files of an archive', async () => {
    const packing = settings({ archives: 'unpack' });
    const archive = `${PIPELINE}-zipped`;
    const { store } = opened;
    const incoming = bucketKeys.incoming(archive);
    const declaration = DECLARATION.replace(PIPELINE, archive);
    await store.put(bucketKeys.pipeline(archive), Buffer.from(declaration));
    await store.put(
      `${incoming}a.zip`,
      zipFile([
        ['cat/1.jpg', 'one'],
        ['cat/2.jpg', 'two'],
      ]),
    );
    await store.put(`${incoming}dog/3.jpg`, Buffer.from('three'));
    const { objects } = await store.listPage(`${incoming}a.zip`);
    for (const object of objects)
      await unpackArchive({ store, now: Date.now }, { pipeline: archive, apart: [], shuffle: true }, object);
    await packPipeline(store, { runId: `${archive}-000001`, pipeline: archive, packing });
    const { code, output } = await dataset('retract', `s3://${BUCKET}/${archive}`, 'a.zip');
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^2 objects retracted/) as string,
    });
    const { output: left } = await dataset('contents', `s3://${BUCKET}/${archive}`);
    expect(left).not.toContain('cat/');
    expect((await store.listPage(bucketKeys.bundles(archive))).objects).toEqual([]);
  }, 60_000);

  it('retracts an object and proves it', async () => {
    await opened.store.put(`${bucketKeys.incoming(PIPELINE)}6/twin.jpg`, Buffer.from('6 1'));
    await drop(6);
    expect((await dataset('retract', ADDRESS)).errors).toContain('KEY is missing');
    expect((await dataset('retract', ADDRESS, 'nothing.jpg')).errors).toContain('holds no nothing.jpg');
    const { code, output, errors } = await dataset('retract', ADDRESS, '6/ü 1+.jpg');
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(output).toMatch(/^1 object retracted: no shard of digits-000006-c\w{8} .* --replaced/);
    expect(output).toMatch(/The same bytes stay under other keys, .*: 6\/twin\.jpg$/m);
    expect((await dataset('contents', ADDRESS)).output).not.toContain('6/ü 1+.jpg');
    expect((await dataset('contents', ADDRESS, runOf(6))).output).toMatch(
      /^[0-9a-f]{64} {2}digits-000006\/shard-000000\.tar {2}6\/ü 1\+\.jpg$/m,
    );
    expect((await dataset('compare', ADDRESS, runOf(6))).output).toBe(
      'retracted  6/ü 1+.jpg\n0 added, 0 replaced, 1 retracted; 8 objects\n',
    );
    expect((await dataset('compare', ADDRESS, runOf(5), runOf(6))).errors).toContain('was pruned');
    expect((await dataset('compare', ADDRESS, 'a', 'b', 'c')).errors).toContain('"c" is one word too many');
    const proof = await dataset('verify', ADDRESS);
    expect(proof.code).toBe(0);
    expect(proof.output).toMatch(/its shards hold retracted objects until .* --replaced: 6\/ü 1\+\.jpg$/m);
    expect(proof.output).toMatch(/other keys have retracted bytes, .*: 6\/twin\.jpg$/m);
    expect(proof.output).toMatch(/^1 retracted object: no shard of the dataset holds the bytes/m);
  }, 60_000);

  it('notes a retraction for a run in progress', async () => {
    const { store } = opened;
    await drop(7);
    await store.put(`${bucketKeys.incoming(PIPELINE)}8/planned.jpg`, Buffer.from('planned'));
    await store.put(`${bucketKeys.incoming(PIPELINE)}8/kept.jpg`, Buffer.from('kept'));
    await planAndPack(store, settings(), runOf(8));
    const { code, output } = await dataset('retract', ADDRESS, '8/planned.jpg', '7/ü 1+.jpg');
    expect(code).toBe(0);
    expect(output).toMatch(/^1 object retracted: no shard of digits-000007-c\w{8} /);
    expect(output).toContain('holds no 8/planned.jpg. The retraction is noted: digits-000008 leaves out');
    await sealDataset({ store }, { runId: runOf(8), pipeline: PIPELINE, packing: settings() });
    expect((await dataset('compact', ADDRESS)).code).toBe(0);
    const held = (await dataset('contents', ADDRESS)).output;
    expect(held).toContain('8/kept.jpg');
    expect(held).not.toContain('8/planned.jpg');
    await store.put(bucketKeys.report(PIPELINE, runOf(8)), Buffer.from('{}'));
  }, 60_000);

  it('finds the region of a bucket by the deployment', async () => {
    const { AWS_REGION, ...env } = process.env;
    const { stdout } = await run(process.execPath, [FILE, 'data', 'list', ADDRESS], {
      env: { ...env, AWS_DEFAULT_REGION: AWS_REGION },
    });
    expect(stdout).toContain('digits-000006');
  }, 60_000);

  it('repairs a generation and gives one up', async () => {
    await drop(91);
    await drop(92);
    await opened.store.delete(bucketKeys.manifest(PIPELINE, runOf(91)));
    const list = await dataset('list', ADDRESS);
    expect(list.errors).toContain(`npx --no-install tidewheel data repair ${PIPELINE} ${runOf(91)}`);
    expect((await dataset('repair', ADDRESS, runOf(91))).output).toContain('its manifest was written again');
    expect((await dataset('verify', ADDRESS, runOf(91))).code).toBe(0);
    expect((await dataset('repair', ADDRESS)).errors).toContain('GENERATION is missing');
    const mistyped = await dataset('repair', ADDRESS, runOf(999));
    expect(mistyped.errors).toMatch(/000999 is no generation of \S+; available: \S+/);
    expect((await dataset('list', ADDRESS, '--give-up')).errors).toContain('belongs to repair');
    const gone = await dataset(
      'repair',
      ADDRESS,
      runOf(92),
      '--give-up',
      '--over',
      `${runOf(5)},${runOf(6)}`,
    );
    expect(gone).toMatchObject({ code: 0, output: expect.stringContaining('was given up') as string });
    expect((await dataset('list', ADDRESS)).output).not.toContain(runOf(92));
  }, 60_000);
});
