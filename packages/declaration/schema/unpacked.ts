/** `packing: none`: no shard is written, and channels hold the files of a sealed version as they lie under `incoming/`. */

import type { Problem } from '@tidewheel/kit/errors.ts';
import { isTable, valueAt } from '@tidewheel/kit/tables.ts';
import { FILES_CHANNEL, SHARDS_CHANNEL, shardsChannel } from '../script/placeholders.ts';
import type { InputChannel } from './channels.ts';
import { isUnpacked } from './shard-formats.ts';
import { channelsNamed, type NamingChannels, partsOf, type SplitName, type SplitSettings } from './splits.ts';

const WORD = 'none';

/** The word alone stands for the format, and leaves the other settings as they are by default. */
export const spelledOut = (given: unknown): unknown =>
  isTable(given) && given['packing'] === WORD ? { ...given, packing: { format: WORD } } : given;

type S3Channel = Extract<InputChannel, { readonly s3: string }>;
/** A channel of the script beside the shards. */
export type ScriptChannel =
  | Exclude<InputChannel, S3Channel>
  | (Omit<S3Channel, 'inputMode'> & {
      readonly inputMode: S3Channel['inputMode'] | 'Pipe';
      /** Only the files of this part of the dataset. */
      readonly split?: SplitName;
    });

interface Reading {
  readonly name: string;
  readonly packing: { readonly format: string; readonly split?: SplitSettings | undefined };
  readonly training: {
    readonly channels?: Readonly<Record<string, InputChannel>> | undefined;
    readonly inputMode?: string | undefined;
  };
}

/** Those that are declared and, where nothing is packed and none of them reads `incoming/`, those of the sealed files. */
export function channelsOf({ name, packing, training }: Reading): Readonly<Record<string, ScriptChannel>> {
  const { channels = {} } = training;
  if (!isUnpacked(packing)) return channels;
  const mode = { inputMode: training.inputMode === 'Pipe' ? 'Pipe' : 'File' } as const;
  const files = { s3: INCOMING, ...mode };
  if (packing.split !== undefined)
    return {
      ...Object.fromEntries(
        partsOf(packing.split).map((split) => [
          shardsChannel(split, Object.keys(channels)),
          { ...files, split },
        ]),
      ),
      ...channels,
    };
  const isNamed = Object.values(channels).some((channel) => readsIncoming(channel, name));
  if (!isNamed) return { [FILES_CHANNEL]: files, ...channels };
  return Object.fromEntries(
    Object.entries(channels).map(([channel, of]): [string, ScriptChannel] => [
      channel,
      's3' in of && readsIncoming(of, name) ? { ...of, ...mode } : of,
    ]),
  );
}

const INCOMING = 'incoming/';

function readsIncoming(channel: unknown, name: string): boolean {
  const s3 = valueAt(channel, ['s3']);
  if (typeof s3 !== 'string') return false;
  const [, pipeline, below = s3] = /^s3:\/\/[^/]+\/([^/]+)\/(.*)$/.exec(s3) ?? [];
  return (pipeline === undefined || pipeline === name) && below.startsWith(INCOMING);
}

/** Fields of `packing` that hold for files as well. */
const OF_FILES = ['format', 'accept', 'ignore', 'split', 'hold', 'whenDone'];
/** Fields of `packing.hold` that go by names alone. */
const HOLDS = ['rejected'];

const OTHERS: readonly (readonly [path: readonly string[], value: unknown, message: string])[] = [
  [
    ['packing', 'whenDone'],
    'delete',
    'would delete the files that the version consists of: write keep, or leave it out',
  ],
  [
    ['dataset', 'onChange'],
    'keep',
    'cannot be had, because a version has one file of each name: leave it out, and dataset.keep: versions keeps the files of older versions',
  ],
  [
    ['dataset', 'onDelete'],
    'keep',
    'cannot be had, because a version has the files that lie under incoming/ at its seal: leave it out, and dataset.keep: versions keeps those of older versions',
  ],
  [
    ['training', 'inputMode'],
    'FastFile',
    'takes no list of files, by which a channel has those of one version: write File or Pipe',
  ],
];

const UNPACKED =
  'says how shards are written, and packing: none writes none: leave it out, or choose a format';

/** What a person wrote that means nothing without shards. @param given as the code reads it */
export function packlessProblems(given: unknown): readonly Problem[] {
  const packing = valueAt(given, ['packing']);
  const kept = valueAt(given, ['dataset', 'keep']);
  if (!isTable(packing) || !isUnpacked(packing))
    return kept === undefined
      ? []
      : [{ path: 'dataset.keep', message: 'is for packing: none; shards stay as they are: leave it out' }];
  const fields = Object.keys(packing).filter((field) => !OF_FILES.includes(field));
  const holds = Object.keys(valueAt(packing, ['hold']) ?? {}).filter((field) => !HOLDS.includes(field));
  const isCompacted = valueAt(given, ['dataset', 'compactAfter']) !== undefined;
  return [
    ...fields.map((field) => ({ path: `packing.${field}`, message: UNPACKED })),
    ...holds.map((field) => ({
      path: `packing.hold.${field}`,
      message: 'needs the content of samples, and packing: none reads no file: leave it out',
    })),
    ...(isCompacted
      ? [
          {
            path: 'dataset.compactAfter',
            message: 'joins shards, and packing: none writes none: leave it out',
          },
        ]
      : []),
    ...OTHERS.flatMap(([path, value, message]) =>
      valueAt(given, path) === value
        ? [{ path: path.join('.'), message: `${String(value)} ${message}` }]
        : [],
    ),
  ];
}

interface Declared {
  readonly name?: unknown;
  readonly packing?: { readonly format?: unknown; readonly split?: unknown } | undefined;
  readonly training?: NamingChannels | undefined;
  readonly compute?: { readonly regions?: unknown } | undefined;
}

/** Reads what other rules have refused too, so a field may be of any type. */
export function filesProblems({ name, packing, training, compute }: Declared) {
  const channels = isTable(training?.channels) ? training.channels : {};
  const at = (channel: string, ...field: string[]) => ['training', 'channels', channel, ...field];
  const isNamed = (channel: string): boolean =>
    !Object.hasOwn(channels, channel) && channelsNamed(training ?? {}).includes(channel);
  if (!isUnpacked(packing))
    return isNamed(FILES_CHANNEL) ? [unnamed(FILES_CHANNEL, 'the shards are in ${channel:train}')] : [];
  const isMissing = packing?.split === undefined && isNamed(SHARDS_CHANNEL);
  const read = Object.keys(channels).filter((channel) => readsIncoming(channels[channel], String(name)));
  const streamed = read.filter((channel) => valueAt(channels, [channel, 'inputMode']) === 'FastFile');
  return [
    ...(isMissing
      ? [
          unnamed(
            SHARDS_CHANNEL,
            `with packing: none the files are \${channel:${FILES_CHANNEL}}, or a channel { s3: ${INCOMING} } of another name`,
          ),
        ]
      : []),
    ...streamed.map((channel) => ({
      path: at(channel, 'inputMode'),
      message:
        'FastFile takes no list of files, by which a channel has those of one version: write File or Pipe',
    })),
    ...(packing?.split === undefined
      ? []
      : read.map((channel) => ({
          path: at(channel),
          message: 'packing.split gives each of its parts a channel: leave this one out, or the split',
        }))),
    ...(compute?.regions === undefined
      ? []
      : [
          {
            path: ['compute', 'regions'],
            message:
              "packing: none leaves the files in the data bucket's region: leave it out, or choose a format",
          },
        ]),
  ];
}

const unnamed = (channel: string, instead: string) => ({
  path: ['training'],
  message: `\${channel:${channel}} is named, and nothing gives it: ${instead}`,
});
