/** `drop` over the API's own answers: what it takes of a folder, and which run it follows. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { contextOf } from '../../../cli/command/context.ts';
import { terminalOf } from '../../../cli/command/terminal.ts';
import { dropInto } from '../../../cli/verbs/drop.ts';
import { packAll, settings } from '../../support/builders/packing.ts';
import { runOf } from '../../support/builders/records.ts';
import { folderOfTest } from '../../support/folders.ts';
import { type ApiServer, startApi } from '../../support/world/api-server.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

const declared = (more = '') => `name: digits
x-local: { source: code, data: data }
settle: { quietSeconds: 60 }
training: { strategy: ddp, hyperparameters: { lr: 0.01 }${more} }
compute: { instanceTypes: [g5.xlarge] }
`;
const NOTHING = 'nothing new, nothing started: no file of the data is new';

let api: ApiServer;
let at: Ground;
let folder: string;
let said: string;

beforeAll(async () => {
  api = await startApi(ground(), 'ada');
  return () => api.stop();
});

beforeEach(async () => {
  at = ground();
  api.at = at;
  folder = folderOfTest('drop');
  await mkdir(path.join(folder, 'project/code'), { recursive: true });
  await mkdir(path.join(folder, 'project/data/7'), { recursive: true });
  await write('tidewheel.yaml', declared());
  await write('code/train.py', 'print(1)');
  await write('data/7/a.png', 'a');
});

const write = (name: string, text: string): Promise<void> =>
  writeFile(path.join(folder, 'project', name), text);

interface Options {
  readonly watch?: boolean;
  readonly again?: boolean;
  readonly 'dry-run'?: boolean;
  readonly keep?: boolean;
}

/** @returns the exit code */
function drop(options: Options = {}, ...positionals: readonly string[]): Promise<number> {
  const lines: string[] = [];
  const take = (text: string): void => {
    lines.push(text);
    said = lines.slice(1).join('\n');
  };
  said = '';
  const context = contextOf(
    {
      terminal: { ...terminalOf(process, { NO_COLOR: '1' }), print: take, note: take, problem: take },
      folder: path.join(folder, 'project'),
      environment: { TIDEWHEEL_API_URL: api.url, TIDEWHEEL_TOKEN: 'ada', XDG_STATE_HOME: folder },
      clone: undefined,
    },
    {},
  );
  const values = {
    again: false,
    bundle: false,
    'dry-run': false,
    keep: false,
    lanes: 2,
    watch: false,
    ...options,
  };
  return dropInto(context, at.blobStore, { values, positionals });
}

const stored = async () => (await at.store.readText(bucketKeys.pipeline('digits')))?.text;
const sent = (): string[] => at.blobStore.keys();

describe('a drop', () => {
  it('declares the pipeline, and sends code and data', async () => {
    expect(await drop()).toBe(0);
    expect(await stored()).toBe(declared());
    expect(sent()).toEqual(['digits/incoming/7/a.png', 'digits/source/train.py']);
    expect(said).toContain('digits is declared; source: + train.py\n1 file');
  });
});

it('sends files beside the code under their names', async () => {
  const local = 'x-local: { source: ., data: [train.csv, data] }\n';
  await write('tidewheel.yaml', declared().replace(/x-local.*\n/, local));
  await write('train.csv', 'a');
  expect(await drop()).toBe(0);
  expect(sent()).toEqual([
    'digits/incoming/data/7/a.png',
    'digits/incoming/train.csv',
    'digits/source/code/train.py',
  ]);
  await write('tidewheel.yaml', declared().replace(/x-local.*\n/, local.replace('train', 'test')));
  await expect(drop()).rejects.toThrow('x-local.data names test.csv, data in');
});

it('starts the run of a pipeline whose data waits', async () => {
  await drop();
  at.store.remove(bucketKeys.pipeline('digits'));
  at.drop('7/a.png');
  expect(await drop()).toBe(0);
  expect(said).not.toContain(NOTHING);
  expect(await at.runs.list('digits', 1)).toMatchObject([{ status: 'settling' }]);
});

it.each(['nowhere', 'code/train.py'])('names no folder before a missing pipeline: %s', async (name) => {
  await rm(path.join(folder, 'project/tidewheel.yaml'));
  const meant = path.join(folder, 'project', name);
  await expect(drop({}, name)).rejects.toThrow(`DIR is "${meant}": there is no such folder`);
});

it.each(['', 'x-local: { source: code }\n', 'x-local: { source: code, data: nowhere }\n'])(
  'sends people without data to apply and run: %j',
  async (local) => {
    await write('tidewheel.yaml', declared().replace(/x-local.*\n/, local));
    await expect(drop()).rejects.toThrow(
      'a training without data is started by tidewheel apply, then tidewheel run digits --watch',
    );
    expect(sent()).toEqual([]);
  },
);

describe('a drop of a folder that was dropped before', () => {
  beforeEach(async () => {
    await drop();
    // Of which no state says that it ended: a drop that followed it would never end.
    await at.runs.create(runOf('digits', 1, { status: 'training' }));
  });

  it.each([
    ['alone', {}],
    ['with --watch', { watch: true }],
  ])('starts nothing, and follows no old run: %s', async (_, options) => {
    const before = [await stored(), sent()];
    expect(await drop(options)).toBe(5);
    expect(said).toBe(`0 files, 0 B, sent to digits; 1 were there from before
${NOTHING}
tidewheel run digits --watch trains again on the data that is there
digits-000001, which began before, is training: tidewheel watch digits-000001`);
    expect([await stored(), sent()]).toEqual(before);
  });

  it('takes other code, and says what trains it', async () => {
    await write('code/train.py', 'print(2)');
    await write('code/net.py', '');
    expect(await drop({ watch: true })).toBe(5);
    expect(said).toContain('digits is declared as it is; source: + net.py; ~ train.py\n');
    expect(said).toContain(
      `${NOTHING}\ntidewheel run digits --watch trains as it is declared now on the data that is there`,
    );
    expect(at.blobStore.body('digits/source/train.py').toString()).toBe('print(2)');
  });

  it.each([
    ['lr: 0.01', 'lr: 0.001', '  training.hyperparameters.lr: 0.01 -> 0.001'],
    ['quietSeconds: 60', 'quietSeconds: 5', '  settle.quietSeconds: 60 -> 5'],
    ['strategy: ddp', 'strategy: ddp, environment: { A: b }', '  training.environment.A: – -> b'],
    ['settle: { quietSeconds: 60 }', '', ''],
  ])('takes a declaration with %s changed to %j', async (before, after, line) => {
    const text = declared().replace(before, after);
    await write('tidewheel.yaml', text);
    expect(await drop({ watch: true })).toBe(5);
    expect(said).toMatch(`digits is declared again; source: unchanged\n${line && `${line}\n`}0 files`);
    expect(await stored()).toBe(text);
  });

  it('takes both with the files that are new', async () => {
    await write('tidewheel.yaml', declared().replace('0.01', '0.1'));
    await write('code/train.py', 'print(3)');
    await write('data/7/b.png', 'b');
    expect(await drop()).toBe(0);
    expect(said).toMatch(/declared again; source: ~ train.py\n.*lr: 0.01 -> 0.1\n1 file.*1 were there/);
    expect(said).not.toContain(NOTHING);
    expect(sent()).toContain('digits/incoming/7/b.png');
  });

  it("says how another person's declaration differs", async () => {
    at.declare(declared().replace('0.01', '0.5'));
    expect(await drop()).toBe(5);
    expect(said).toContain('  training.hyperparameters.lr: 0.5 -> 0.01\n');
    expect(await stored()).toBe(declared());
  });

  it.each([
    ['by its fields, all at once', 'lr: 0.01 }', 'lr: 0.01 }, strateg: x, nodes: 2', ['strateg', 'nodes']],
    ['by the deployment', 'ddp', 'ddp, channels: { a: { s3: s3://others/a/ } }', ['training.channels.a']],
    ['as YAML', 'strategy:', '[strategy', ['YAML']],
  ])('sends nothing where the declaration is refused %s', async (_, from, to, words) => {
    await write('tidewheel.yaml', declared().replace(from, to));
    await write('code/train.py', 'print(4)');
    await write('data/7/c.png', 'c');
    const error: unknown = await drop().catch((caught: unknown) => caught);
    for (const word of words) expect(String(error)).toContain(word);
    expect(await stored()).toBe(declared());
    expect(at.blobStore.body('digits/source/train.py').toString()).toBe('print(1)');
    expect(sent()).not.toContain('digits/incoming/7/c.png');
  });

  it('leaves declaration and code with --keep', async () => {
    await write('tidewheel.yaml', declared().replace('0.01', '0.1'));
    await write('code/train.py', 'print(7)');
    await write('data/7/e.png', 'e');
    expect(await drop({ keep: true })).toBe(0);
    expect(said).toContain(
      'not taken (--keep): digits would be declared again; source: ~ train.py\n  training.hyperparameters.lr: 0.01 -> 0.1\n',
    );
    expect(await stored()).toBe(declared());
    expect(at.blobStore.body('digits/source/train.py').toString()).toBe('print(1)');
    expect(sent()).toContain('digits/incoming/7/e.png');
    expect(await drop({ keep: true })).toBe(5);
    expect(said).toContain('trains again on the data');
    await write('tidewheel.yaml', `${declared()}unknown: 1\n`);
    expect(await drop({ keep: true })).toBe(5);
    expect(said).toContain('not taken (--keep): tidewheel.yaml: (whole document): has no field "unknown"');
  });

  it('refuses what the dataset cannot take', async () => {
    await packAll(at.blobStore, settings());
    await write('tidewheel.yaml', `${declared()}packing: { format: mds, label: none }\n`);
    await write('code/train.py', 'print(8)');
    await write('data/7/f.png', 'f');
    const before = [await stored(), sent()];
    await expect(drop()).rejects.toThrow(
      /^tidewheel.yaml: packing.format is "mds", but digits-000001 was packed with "webdataset".*; packing.label is "none", but .* new pipeline/,
    );
    expect([await stored(), sent()]).toEqual(before);
    expect(at.blobStore.body('digits/source/train.py').toString()).toBe('print(1)');
    expect(await drop({ keep: true })).toBe(0);
  });

  it('only says what it would do with --dry-run', async () => {
    await write('tidewheel.yaml', declared().replace('0.01', '0.2'));
    await write('code/train.py', 'print(5)');
    await write('data/7/d.png', 'd');
    const before = [await stored(), sent()];
    expect(await drop({ 'dry-run': true, watch: true })).toBe(0);
    expect(said).toContain('digits would be declared again; source: ~ train.py\n');
    expect(said).toContain('1 file, 1 B, would be sent');
    expect([await stored(), sent()]).toEqual(before);
  });

  it('takes nothing where its own folder is not there', async () => {
    await write('code/train.py', 'print(6)');
    await expect(drop({}, 'nowhere')).rejects.toThrow('there is no such folder');
    expect(at.blobStore.body('digits/source/train.py').toString()).toBe('print(1)');
  });

  it('keeps its data out of the code', async () => {
    const text = declared().replace('x-local: { source: code, data: data }\n', '');
    await write('tidewheel.yaml', text);
    await drop({}, 'data');
    expect(sent()).toContain('digits/source/code/train.py');
    expect(sent().filter((key) => key.startsWith('digits/source/data/'))).toEqual([]);
  });
});
