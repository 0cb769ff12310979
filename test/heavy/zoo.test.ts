/** Seven layouts of the zoo as a person brings them: `init`, `drop`, and what the script reads of every channel. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type ApiClient, apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { finishedRun, startTestRegion, type TestRegion, tidewheelIn } from '../support/region.ts';
import { bodyOf } from '../zoo/bodies.ts';
import { LAYOUTS, type Layout } from '../zoo/layouts.ts';

/** Counts samples, members and classes of each channel, as tarfile finds them. */
const SCRIPT = `
import collections, glob, json, os, tarfile
got = {}
for name, folder in os.environ.items():
    if name not in ("SM_CHANNEL_TRAIN", "SM_CHANNEL_VALIDATION", "SM_CHANNEL_TEST"):
        continue
    samples, members, labels = set(), collections.Counter(), collections.Counter()
    for shard in glob.glob(folder + "/**/*.tar", recursive=True):
        with tarfile.open(shard) as tar:
            for one in tar:
                at = one.name.index(".", one.name.rindex("/") + 1 if "/" in one.name else 0)
                samples.add(one.name[:at])
                if one.name.endswith(".cls"):
                    labels[tar.extractfile(one).read().decode()] += 1
                else:
                    members[one.name[at + 1:]] += 1
    channel = name[len("SM_CHANNEL_"):].lower()
    got[channel] = {"samples": len(samples), "members": sum(members.values()), "labels": dict(labels)}
print("GOT " + json.dumps(got))
for epoch in range(2):
    print(f"epoch {epoch}")
`;

const CHOSEN = [
  'archives of class folders',
  'train, val and test folders of classes',
  'class folders of recordings',
  'images and labels of YOLO, with a split',
  'VOC, with lists',
  'a CSV beside a folder, as on Kaggle',
  'volumes of nnU-Net',
];

let test: TestRegion;
let api: ApiClient;
let folder = '';

beforeAll(async () => {
  test = await startTestRegion('calm');
  api = apiClient(test.region);
  folder = await mkdtemp(path.join(tmpdir(), 'zoo-'));
}, 600_000);

afterAll(async () => {
  await test.stop();
  await rm(folder, { recursive: true, force: true });
});

const tidewheel = (...words: readonly string[]): Promise<string> => tidewheelIn(test, folder, words);

async function brought(name: string, { files }: Layout): Promise<string> {
  const project = path.join(folder, name);
  for (const [key, body] of Object.entries(files).map(bodyOf)) {
    const file = path.join(project, 'data', key);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, body);
  }
  await writeFile(path.join(project, 'train.py'), SCRIPT);
  await tidewheel('init', project, '--name', name, '--script', 'train.py');
  const declaration = path.join(project, 'tidewheel.yaml');
  const text = await readFile(declaration, 'utf8');
  await writeFile(declaration, text.replace('quietSeconds: 60', 'quietSeconds: 1'));
  return project;
}

describe.each(
  LAYOUTS.filter(({ name }) => CHOSEN.includes(name)).map(
    (layout, at) => [layout.name, `zoo-${at}`, layout] as const,
  ),
)('%s', (_, name, layout) => {
  it('reaches the script as it is meant', async () => {
    await tidewheel('drop', await brought(name, layout));
    expect((await finishedRun(api, `${name}-000001`)).status).toBe('succeeded');
    const logs = await tidewheel('logs', `${name}-000001`);
    const got: unknown = JSON.parse(/ GOT (.+)$/m.exec(logs)?.[1] ?? '{}');
    const { splits = { train: layout.samples }, labels = {} } = layout;
    const all = Object.entries(Object(got) as Record<string, { samples: number; labels: object }>);
    expect(Object.fromEntries(all.map(([channel, { samples }]) => [channel, samples]))).toEqual(splits);
    const seen: Record<string, number> = {};
    for (const [, one] of all)
      for (const [label, count] of Object.entries(one.labels))
        seen[label] = (seen[label] ?? 0) + Number(count);
    expect(seen).toEqual(labels);
  }, 300_000);
});
