/** The commands of `tidewheel data` that look at samples: `show`, `sample` and `find`. */

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { belowIncoming } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { quotedIfNeeded } from '@tidewheel/kit/quoted.ts';
import { contentOf, type DatasetVersion, type MemberLine, manifestsOf } from '@tidewheel/packing/dataset.ts';
import {
  contactSheet,
  readSampleMember,
  type StoredSample,
  spreadSamples,
  storedSamples,
  textOf,
} from '@tidewheel/packing/report.ts';
import { openImageEngine } from '../../functions/aws/images/image-engine.ts';
import { versionOf } from './contents.ts';
import { complain, type DatasetRequest, found, incomingKey, type Outcome, shownSampleKey } from './words.ts';

const labelOf = ({ lines }: StoredSample): string | undefined =>
  lines.find(({ label }) => label !== undefined)?.label;
const digestOf = (line: MemberLine): string => line.source?.sha256 ?? contentOf(line);

/** Writes a page with samples from all over the version. */
export async function show(asked: DatasetRequest): Promise<Outcome> {
  const { store, pipeline, words, tell, out = `${pipeline}-samples.html`, most } = asked;
  const version = await versionOf(asked, words[0]);
  if (typeof version === 'string') return complain(version);
  if (await isOfFiles(asked, version)) return complain(NO_SAMPLES);
  const samples = await spreadSamples(store, { pipeline, generations: version.generations }, most);
  const title = `${samples.length} samples of ${version.generations.join(', ')}`;
  const page = await contactSheet({ store, images: openImageEngine() }, { title, pipeline, samples });
  await mkdir(path.dirname(out), { recursive: true });
  await writeFile(out, page);
  tell(`${title}: ${path.resolve(out)}`);
  return found({
    pipeline,
    file: path.resolve(out),
    samples: samples.length,
    generations: version.generations,
  });
}

/** Prints the sample that holds an object, and writes its members into a folder if one is named. */
export async function sample(asked: DatasetRequest): Promise<Outcome> {
  const { store, pipeline, words } = asked;
  const version = await versionOf(asked, undefined);
  if (typeof version === 'string') return complain(version);
  if (await isOfFiles(asked, version)) return complain(NO_SAMPLES);
  const [word = ''] = words;
  const key = incomingKey(pipeline, word);
  for await (const one of storedSamples(store, pipeline, version.generations)) {
    if (!one.lines.some((line) => line.key === key)) continue;
    await printSample(asked, one);
    return found({
      pipeline,
      generation: one.manifest.generation,
      shard: one.shard.name,
      label: labelOf(one),
      members: one.lines.map((line) => ({
        name: line.name,
        key: line.key,
        size: line.size,
        offset: line.offset,
        digest: digestOf(line),
      })),
    });
  }
  return complain(
    `the newest version holds no ${quotedIfNeeded(word)}: tidewheel data find s3://${store.bucket}/${pipeline} TEXT lists keys`,
  );
}

async function printSample(
  { store, pipeline, out, tell }: Pick<DatasetRequest, 'store' | 'pipeline' | 'out' | 'tell'>,
  one: StoredSample,
): Promise<void> {
  const label = labelOf(one);
  tell(
    `${one.manifest.generation}/${one.shard.name}${label === undefined ? '' : `  label ${quotedIfNeeded(label)}`}`,
  );
  for (const line of one.lines) {
    const bytes = await readSampleMember(store, one, line);
    tell(`  ${describe(pipeline, line)}`);
    const text = line.size <= 400 ? textOf(bytes) : undefined;
    if (text !== undefined) tell(`    ${quotedIfNeeded(text.trimEnd())}`);
    if (out === undefined) continue;
    // The names of members have no `..` and no leading slash, and a name that holds one is refused all the same.
    const file = path.resolve(out, line.name);
    if (!file.startsWith(`${path.resolve(out)}${path.sep}`)) continue;
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, bytes);
  }
  if (out !== undefined) tell(`written to ${path.resolve(out)}`);
}

function describe(pipeline: string, line: MemberLine): string {
  const { width, height, seconds, lines, tokens } = line.media ?? {};
  const facts = [
    ...(width === undefined ? [] : [`${width} x ${height}`]),
    ...(seconds === undefined ? [] : [`${seconds} s`]),
    ...(lines === undefined ? [] : [`lines ${lines}, tokens ${tokens}`]),
  ];
  const from = line.key === undefined ? [] : [`from ${shownSampleKey(pipeline, line.key)}`];
  return [
    quotedIfNeeded(line.name),
    `${line.size} bytes`,
    ...facts,
    `at ${line.offset}`,
    digestOf(line),
    ...from,
  ].join('  ');
}

/** Lists samples by a part of a key, the beginning of a digest, or `label:NAME`. */
export async function find(asked: DatasetRequest): Promise<Outcome> {
  const { store, pipeline, words, most, tell } = asked;
  const version = await versionOf(asked, undefined);
  if (typeof version === 'string') return complain(version);
  if (await isOfFiles(asked, version)) return complain(NO_SAMPLES);
  const matches = matcherOf(words[0] ?? '', pipeline);
  const samples: object[] = [];
  let isMore = false;
  for await (const one of storedSamples(store, pipeline, version.generations)) {
    if (!matches(one)) continue;
    isMore = samples.length === most;
    if (isMore) break;
    const keys = one.lines.flatMap(({ key }) => key ?? []);
    const label = labelOf(one);
    samples.push({ generation: one.manifest.generation, shard: one.shard.name, keys, label });
    const shown = keys.map((key) => shownSampleKey(pipeline, key)).join(' ');
    tell(
      `${one.manifest.generation}/${one.shard.name}  ${shown}${label === undefined ? '' : `  ${quotedIfNeeded(label)}`}`,
    );
  }
  if (isMore) tell(`and more: --samples N shows more than ${most}`);
  if (samples.length === 0) return complain('no sample of the newest version matches');
  return found({ pipeline, samples, isMore });
}

const NO_SAMPLES =
  'the version has no samples, because its files were not packed (packing: none): tidewheel data contents lists them, and they lie under incoming/';

/** Whether its generations have no shards. */
async function isOfFiles(
  { store, pipeline }: Pick<DatasetRequest, 'store' | 'pipeline'>,
  { generations }: DatasetVersion,
): Promise<boolean> {
  return (await manifestsOf(store, pipeline, generations)).some(isUnpacked);
}

function matcherOf(text: string, pipeline: string): (one: StoredSample) => boolean {
  if (text.startsWith('label:')) {
    const wanted = text.slice('label:'.length);
    return (one) => labelOf(one) === wanted;
  }
  const isDigest = /^[0-9a-f]{8,64}$/.test(text);
  return ({ lines }) =>
    lines.some(
      (line) =>
        (isDigest && (digestOf(line).startsWith(text) || line.sha256.startsWith(text))) ||
        (line.key !== undefined && belowIncoming(pipeline, line.key).includes(text)),
    );
}
