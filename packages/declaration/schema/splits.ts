/** `packing.split`: which part of the data trains, and which parts measure what was learnt. */

import { besideOthers } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import { type CommandLine, neededChannels } from '../script/arguments.ts';
import { channelsIn, shardsChannel } from '../script/placeholders.ts';

/** In the order in which shares are laid out. Each is the name of a channel of training. */
export const SPLITS = ['train', 'validation', 'test'] as const;
export type SplitName = (typeof SPLITS)[number];

/** Nested repetition is not refused: many such patterns never take long, and each search has a limit. */
export function isPatternWithGroup(pattern: string): boolean {
  try {
    return (new RegExp(`${pattern}|`, 'u').exec('')?.length ?? 0) === 2;
  } catch {
    return false;
  }
}

const part = (of: string) =>
  z
    .union(
      [
        z.number().gt(0).lt(1),
        z
          .array(
            z
              .string()
              .min(1)
              .max(500)
              .regex(/^[^/].*[^/]$|^[^/]$/, 'leave out slashes around it'),
          )
          .min(1)
          .max(50),
      ],
      'write a share between 0 and 1, or names such as [train, training]',
    )
    .describe(
      `For the channel ${of}: a share of the samples or groups, where all shares give 1; with by: folder, names of folders or files; with by: list, files under incoming/ that list samples${of === 'train' ? ' (absent: all that no list names)' : ''}.`,
    );

/** The data says which part a sample is in, so the parts are names. */
export const isGivenSplit = ({ by }: { readonly by?: unknown }): boolean => by === 'folder' || by === 'list';

/** By `folder` or `list`. */
export const namesOf = (split: Partial<Record<SplitName, unknown>>, name: SplitName): readonly string[] => {
  const named = split[name];
  return Array.isArray(named) ? named.filter((one) => typeof one === 'string') : [];
};

/** A sum of decimal fractions is rarely exact. */
const TOLERANCE = 1e-9;

const sharesOf = (split: Partial<Record<SplitName, unknown>>): number[] =>
  SPLITS.flatMap((name) => (typeof split[name] === 'number' ? [split[name]] : []));

const sumOf = (split: Partial<Record<SplitName, unknown>>): number =>
  sharesOf(split).reduce((sum, one) => sum + one, 0);

const isDistinct = (names: readonly string[]): boolean => new Set(names).size === names.length;

const isPart = (value: unknown): value is Partial<Record<SplitName, unknown>> =>
  typeof value === 'object' && value !== null;

export const splitSchema = z
  .strictObject({
    train: part('train').optional(),
    validation: part('validation').optional(),
    test: part('test').optional(),
    by: z
      .enum(['key', 'group', 'folder', 'list'])
      .default('key')
      .describe(
        'What decides the split: a hash of the key without suffix, or of the group that groupPattern finds in it; or the data itself, by the first of the named folders in the key (a whole file name counts too), or by lists of samples.',
      ),
    groupPattern: z
      .string()
      .min(1)
      .max(200)
      .refine(
        isPatternWithGroup,
        'write a regular expression with one group in brackets, such as ^(patient-[0-9]+)/',
      )
      .optional()
      .describe(
        'For by: group: the first group of this regular expression, found in the key under incoming/ without suffix. All samples with the same text are in one split.',
      ),
  })
  .refine(({ by, train }) => by === 'list' || train !== undefined, {
    ...besideOthers,
    path: ['train'],
    message: 'is missing: write a share or names; only with by: list does all that no list names train',
  })
  .refine(({ validation, test }) => validation !== undefined || test !== undefined, {
    ...besideOthers,
    message: 'name a second part beside train, such as validation: 0.1',
  })
  .refine((split) => !isGivenSplit(split) || sharesOf(split).length === 0, {
    ...besideOthers,
    error: ({ input }) =>
      `by: ${isPart(input) && 'by' in input ? String(input.by) : 'folder'} takes names, not shares: write train: [train] and validation: [val]`,
  })
  .refine((split) => isGivenSplit(split) || SPLITS.every((name) => !Array.isArray(split[name])), {
    ...besideOthers,
    path: ['by'],
    message: 'names need by: folder or by: list; without it, write shares such as train: 0.9',
  })
  .refine((split) => isDistinct(SPLITS.flatMap((name) => namesOf(split, name))), {
    ...besideOthers,
    message: 'a name stands twice: give each to one part',
  })
  .refine((split) => sharesOf(split).length < 2 || Math.abs(sumOf(split) - 1) <= TOLERANCE, {
    ...besideOthers,
    error: ({ input }) =>
      `the shares give ${isPart(input) ? Number(sumOf(input).toFixed(9)) : 'no sum'}: make them give 1, such as train: 0.9 and validation: 0.1`,
  })
  .refine(({ by, groupPattern }) => by !== 'group' || groupPattern !== undefined, {
    ...besideOthers,
    path: ['groupPattern'],
    message: 'say what a group is: a regular expression such as ^(patient-[0-9]+)/',
  })
  .refine(({ by, groupPattern }) => by === 'group' || groupPattern === undefined, {
    ...besideOthers,
    path: ['by'],
    message: 'write by: group, or leave groupPattern out',
  })
  .describe('Splits the samples for good, each part in shards and a channel of its own.');

/** As it is declared, and as the manifest of a generation keeps it. */
export type SplitSettings = z.infer<typeof splitSchema>;

/** The declared parts, in the order of `SPLITS`. */
export const partsOf = (split: SplitSettings): readonly SplitName[] =>
  SPLITS.filter((name) => name === 'train' || split[name] !== undefined);

/** Reads what other rules have refused too, so a field may be of any type. */
export type NamingChannels = CommandLine & { readonly channels?: unknown; readonly environment?: unknown };

interface Declared {
  readonly packing?: { readonly split?: unknown } | undefined;
  readonly training?: NamingChannels | undefined;
}

/** Reads what other rules have refused too, so a field may be of any type. */
export function splitProblems({ packing, training }: Declared) {
  const split = isPart(packing?.split) ? packing.split : {};
  const declared = Object.keys(training?.channels ?? {});
  const isMade = (name: string): boolean => SPLITS.some((one) => one === name && split[one] !== undefined);
  const taken = SPLITS.filter((name) => name === 'train' || isMade(name))
    .map((name) => shardsChannel(name, declared))
    .filter((name) => declared.includes(name));
  const named = channelsNamed(training ?? {});
  const missing = SPLITS.filter(
    (name) =>
      name !== 'train' &&
      !isMade(name) &&
      named.some((one) => one === shardsChannel(name, declared) && !declared.includes(one)),
  );
  return [
    ...taken.map((name) => ({
      path: ['training', 'channels', name],
      message: `holds the shards, because ${name.slice('shards_'.length)} is declared too: give it another name`,
    })),
    ...missing.map((name) => ({
      path: ['training'],
      message: `\${channel:${shardsChannel(name, declared)}} is named, but neither training.channels nor packing.split gives it: declare packing.split.${name}`,
    })),
  ];
}

/** The channels that command line and environment name, without arguments that may be left out. */
export function channelsNamed({ environment, ...line }: NamingChannels): string[] {
  const values = Object.values(environment ?? {});
  return [
    ...neededChannels(line),
    ...values.flatMap((text) => (typeof text === 'string' ? channelsIn(text) : [])),
  ];
}
