/**
 * Files beside the shards that particular readers want, derived from what is sealed: anybody who writes them writes
 * the same bytes. They lie in the generation's folder, not among the shards.
 */
import { shardsFolder } from '../layout.ts';
import type { PackingSettings } from '../pipeline.ts';
import type { PlanFacts } from './formats/format.ts';
import { mdsConfig } from './formats/mds.ts';
import { RECORD_HEAD_BYTES } from './formats/recordio.ts';
import type { Manifest, MemberLine } from './records.ts';

export interface SideFile {
  /** Relative to the generation's folder. */
  readonly name: string;
  readonly text: string;
}

type Shard = Manifest['shards'][number];
const indexName = (shard: Shard): string => `index/${shard.name.replace(/\.[^.]+$/, '')}.idx`;

/**
 * DALI's index of one tar: `v1.2 <samples>`, then suffix, offset, size and name of every member of a sample. DALI splits
 * at blanks and finds members by their offsets alone, so a blank in a name is written as `_`.
 */
function daliIndex(shard: Shard, lines: readonly MemberLine[]): SideFile {
  const samples = new Map<string, string[]>();
  for (const { name, offset, size } of lines) {
    const base = name.lastIndexOf('/') + 1;
    const dot = name.indexOf('.', base);
    const stem = name.slice(0, dot);
    const members = samples.get(stem) ?? [];
    members.push(`${name.slice(dot + 1)} ${offset} ${size} ${name.replaceAll(' ', '_')}`);
    samples.set(stem, members);
  }
  const rows = [...samples.values()].map((members) => members.join(' '));
  return { name: indexName(shard), text: `${[`v1.2 ${samples.size}`, ...rows].join('\n')}\n` };
}

/** MXNet's index: number of the record, a tab, its first byte. */
function recordioIndex(shard: Shard, lines: readonly MemberLine[]): SideFile {
  const records = lines.filter(({ column }) => column !== 'label');
  const rows = records.map(({ offset }, record) => `${record}\t${offset - RECORD_HEAD_BYTES}\n`);
  return { name: indexName(shard), text: rows.join('') };
}

/** Index of one shard, for the formats that have one. */
export function shardIndex(
  format: PackingSettings['format'],
  shard: Shard,
  lines: readonly MemberLine[],
): SideFile | undefined {
  if (format === 'webdataset') return daliIndex(shard, lines);
  return format === 'recordio' ? recordioIndex(shard, lines) : undefined;
}

/** `wids` index: random access over the shards of WebDataset's own library. */
function widsIndex({ generation: name, shards, revision }: Sealed): SideFile {
  const shardlist = shards.map(({ name, samples, bytes }) => ({
    url: `${shardsFolder(revision)}${name}`,
    nsamples: samples,
    filesize: bytes,
  }));
  return { name: 'wids.json', text: `${JSON.stringify({ wids_version: 1, name, shardlist })}\n` };
}

/** streaming's index.json: written before the manifest, after every shard. */
function mdsIndex({ settings, facts, shards, revision }: Sealed): SideFile {
  const config = mdsConfig(settings, facts);
  const entries = shards.map(({ name, samples, bytes }) => ({
    ...config,
    raw_data: { basename: `${shardsFolder(revision)}${name}`, bytes, hashes: {} },
    samples,
    zip_data: null,
  }));
  return { name: 'index.json', text: `${JSON.stringify({ shards: entries, version: 2 })}\n` };
}

export interface Sealed {
  readonly generation: string;
  readonly settings: PackingSettings;
  readonly facts: PlanFacts;
  /** Of the plan. */
  readonly revision?: string | undefined;
  readonly shards: readonly Shard[];
}

/** The index over all shards, for the formats that have one. */
export function datasetIndex(sealed: Sealed): SideFile | undefined {
  const { format } = sealed.settings;
  if (format === 'webdataset') return widsIndex(sealed);
  return format === 'mds' ? mdsIndex(sealed) : undefined;
}
