/** Each layout is declared as its owner means it, packed so, and said, by `init`, the seal and `check`. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { describe, expect, it } from 'vitest';
import { terminalOf } from '../../cli/command/terminal.ts';
import { type DataFacts, dataIn, withLayout } from '../../cli/init/data.ts';
import { declarationText } from '../../cli/init/declaration.ts';
import { readScript } from '../../cli/init/script.ts';
import { VERBS } from '../../cli/verbs.ts';
import { unpackAll } from '../support/builders/archives.ts';
import { problems, runOf } from '../support/builders/compaction.ts';
import { dropped, manifestOf, memberLines, packAll } from '../support/builders/packing.ts';
import { MemoryBlobStore } from '../support/fakes/memory-blob-store.ts';
import { folderOfTest } from '../support/folders.ts';
import { bodyOf } from './bodies.ts';
import { LAYOUTS, type Layout } from './layouts.ts';

const SCRIPT = 'import torch, tarfile\ntorch.save(model, "model.pt")';

const filesOf = ({ files }: Layout) => Object.fromEntries(Object.entries(files).map(bodyOf));

/** The files as `init` finds them: it does not see what is hidden. */
async function found(layout: Layout): Promise<DataFacts> {
  const store = new MemoryBlobStore();
  const files = Object.entries(filesOf(layout)).filter(([key]) => !/(^|\/)\./.test(key));
  for (const [key, body] of files) store.seed(key, body);
  const keys = files.map(([key, { length: size }]) => ({ key, size }));
  const facts = dataIn(
    'data',
    keys.map(({ key }) => key),
  );
  if (facts === undefined) throw new Error('no data was found');
  return withLayout(store, facts, { files: keys, beside: [] });
}

function declared(data: DataFacts) {
  const facts = readScript(SCRIPT);
  const text = declarationText({
    name: 'zoo',
    source: '.',
    script: 'train.py',
    facts,
    data,
    requirements: false,
    namesData: false,
  });
  const read = readDeclaration('zoo', text);
  if (!read.valid) throw new Error(JSON.stringify(read.problems));
  return { text, packing: read.pipeline.packing };
}

const count = (all: readonly string[]): Record<string, number> =>
  Object.fromEntries([...new Set(all)].map((one) => [one, all.filter((other) => other === one).length]));

function packed(store: MemoryBlobStore) {
  const manifest = manifestOf(store, runOf(1));
  const lines = memberLines(store, runOf(1));
  const labels = count(lines.flatMap(({ made, label }) => (made === 'label' ? [label ?? ''] : [])));
  const splits = Object.fromEntries((manifest.splits ?? []).map(({ name, samples }) => [name, samples]));
  const columns = count(lines.flatMap(({ made, column }) => (made === undefined ? [column ?? ''] : [])));
  return { samples: manifest.samples, labels, splits, columns };
}

/** The layout as a person's folder, and what a verb prints of it. */
async function brought(layout: Layout): Promise<(verb: 'init' | 'check') => Promise<string>> {
  const folder = folderOfTest('zoo');
  for (const [key, body] of Object.entries(filesOf(layout))) {
    const file = path.join(folder, 'data', key);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, body);
  }
  await writeFile(path.join(folder, 'train.py'), SCRIPT);
  return async (name) => {
    const said: string[] = [];
    const print = (text: string) => void said.push(text);
    const terminal = { ...terminalOf(process, {}), print, note: print, problem: print };
    const { verb } = await VERBS[name]();
    const context = { terminal, folder, environment: {}, clone: undefined };
    await verb.invoke(name === 'init' ? [folder, '--name', 'zoo'] : [folder], context);
    return said.join('\n');
  };
}

/** Counts, or all of one sort, with an example in quotes; a thing to do names what it is about. */
const WITH_EXAMPLE = /\d+ .*"|none of \d+ samples|no sample has a label/;

describe.each(LAYOUTS.map((layout) => [layout.name, layout] as const))('%s', (_, layout) => {
  it('is declared as it is meant', async () => {
    const data = await found(layout);
    expect(data.layout?.fields).toEqual(layout.init);
    const { require = [], ...fields } = layout.init;
    expect(declared(data).packing).toMatchObject({ ...fields, ...(require.length > 0 && { require }) });
  });

  it('is packed as it is meant, and said', async () => {
    const store = dropped(filesOf(layout));
    const data = await found(layout);
    const { text, packing } = declared(data);
    if (packing.archives === 'unpack') await unpackAll(store);
    const sealed = await packAll(store, { ...packing, ...layout.declared }, runOf(1));
    const { samples, columns, labels = {}, splits = {} } = layout;
    const isOfSamples = layout.declared?.format !== 'lines';
    expect(packed(store)).toMatchObject({ samples, labels, splits, ...(isOfSamples && { columns }) });
    expect(await problems(store)).toEqual([]);
    const said = `${text}\n${JSON.stringify(sealed)}`;
    for (const one of layout.said ?? []) expect(said).toMatch(one);
  });

  it('is said again by check, with counts and examples', async () => {
    const invoke = await brought(layout);
    const init = await invoke('init');
    const check = await invoke('check');
    const found = [...init.matchAll(/^ {2}found {3}(.+)$/gm)].map(([, text = '']) => text);
    const toDo = [...init.matchAll(/^ {2}to do {3}(.+)$/gm)].map(([, text = '']) => text);
    const again = [...check.matchAll(/^ {2}(?:packing\.\w+|to do): (.+)$/gm)].map(([, text = '']) => text);
    expect(again).toEqual([...found, ...toDo]);
    for (const text of found) expect(text).toMatch(WITH_EXAMPLE);
  });
});
