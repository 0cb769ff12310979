/** Each layout is declared as its owner means it, packed so, and said. */
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { describe, expect, it } from 'vitest';
import { type DataFacts, dataIn, withLayout } from '../../cli/init/data.ts';
import { declarationText } from '../../cli/init/declaration.ts';
import { readScript } from '../../cli/init/script.ts';
import { problems, runOf } from '../support/builders/compaction.ts';
import { dropped, manifestOf, memberLines, packAll } from '../support/builders/packing.ts';
import { MemoryBlobStore } from '../support/fakes/memory-blob-store.ts';
import { bodyOf } from './bodies.ts';
import { LAYOUTS, type Layout } from './layouts.ts';

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
  const unknown = {
    folder: 'data',
    files: keys.length,
    kind: 'files' as const,
    suffixes: [],
    otherSuffixes: [],
    folders: [],
  };
  return withLayout(store, facts ?? { ...unknown, labels: [], isUnknown: true }, { files: keys, beside: [] });
}

function declared(data: DataFacts) {
  const facts = readScript('import torch, webdataset\ntorch.save(model, "model.pt")');
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
    const sealed = await packAll(store, { ...packing, ...layout.declared }, runOf(1));
    const { samples, columns, labels = {}, splits = {} } = layout;
    const isOfSamples = layout.declared?.format !== 'lines';
    expect(packed(store)).toMatchObject({ samples, labels, splits, ...(isOfSamples && { columns }) });
    expect(await problems(store)).toEqual([]);
    const said = `${text}\n${JSON.stringify(sealed)}`;
    for (const one of layout.said ?? []) expect(said).toMatch(one);
  });
});
