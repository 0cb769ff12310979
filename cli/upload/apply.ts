/** Declares a pipeline as its file says, and makes its source equal to a folder. */

import path from 'node:path';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { writtenPipeline } from '@tidewheel/declaration/pipeline.ts';
import { readDeclaration, readStored } from '@tidewheel/declaration/read.ts';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { type Difference, differingFields } from '@tidewheel/kit/differences.ts';
import { problemText } from '@tidewheel/kit/errors.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import type { AnswerOf } from '../../client/operations.ts';
import { type Api, ApiError } from '../command/api-calls.ts';
import type { LocalDeclaration } from '../command/declared.ts';
import { safe } from '../command/format.ts';
import { putSource, type SourceChanges } from './source.ts';

export interface Applied {
  readonly pipeline: string;
  readonly declaration: 'new' | 'changed' | 'unchanged';
  /** How the file's declaration differs from the stored one. */
  readonly fields: readonly Difference[];
  readonly source: SourceChanges;
  /** The declaration started a run on data that waited. */
  readonly wakes: boolean;
}

export interface ApplyOptions {
  readonly api: Api;
  readonly store: BlobStore;
  readonly declaration: LocalDeclaration;
  /** A folder of data, absolute, which the declaration need not name. */
  readonly dropped?: string;
  readonly dryRun: boolean;
}

/** A declaration that is refused changes nothing. @throws UsageError, ApiError with every problem */
export async function apply({ api, store, declaration, dropped, dryRun }: ApplyOptions): Promise<Applied> {
  const { name, text, folder, file, source, dependencies } = declaration;
  const read = readDeclaration(name, text);
  if (!read.valid)
    throw new UsageError(read.problems.map((problem) => `${path.basename(file)}: ${problemText(problem)}`));
  const before = await storedDeclaration(api, name);
  const stored = before && readStored(name, before.declaration);
  const isSame = before?.declaration === text && before.valid !== false;
  const declare = async (): Promise<boolean> => {
    if (isSame || dryRun) return false;
    const { woken } = await api.call('putPipeline', { name, body: { yaml: text } });
    return woken !== undefined && woken.kind !== 'ignored';
  };
  // Refused, it leaves the code as it is. But a new pipeline may start a run at once, which needs the code.
  const wakesAgain = before !== undefined && (await declare());
  const root = path.join(folder, source);
  const notCode = [...placesOf(declaration), file, dropped];
  const omit = notCode.flatMap((each) => (each ? path.relative(root, each).split(path.sep).join('/') : []));
  const prefix = bucketKeys.source(name);
  const changes = await putSource(store, { folder: root, dependencies, omit, prefix, dryRun });
  const wakes = before === undefined ? await declare() : wakesAgain;
  return {
    pipeline: name,
    declaration: before === undefined ? 'new' : isSame ? 'unchanged' : 'changed',
    fields:
      stored?.valid === true ? differingFields([stored.pipeline, read.pipeline].map(writtenPipeline)) : [],
    source: changes,
    wakes,
  };
}

/** Absolute. */
const placesOf = ({ folder, data }: LocalDeclaration): readonly string[] =>
  data === undefined ? [] : (data.only ?? ['']).map((each) => path.join(folder, data.root, each));

/** Whether the next run would train otherwise. */
export const changesTraining = ({ declaration, source }: Applied): boolean =>
  declaration !== 'unchanged' ||
  [source.added, source.changed, source.removed].some((names) => names.length > 0);

export async function storedDeclaration(
  api: Api,
  name: string,
): Promise<AnswerOf<'getPipeline'> | undefined> {
  try {
    return await api.call('getPipeline', { name });
  } catch (error: unknown) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** In a sentence or two for a person, and a line for each field that differs. */
export function appliedText({ pipeline, declaration, fields, source }: Applied, dryRun: boolean): string {
  const names = (files: readonly string[]) =>
    `${files.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''}`;
  const parts = [
    ...(source.added.length > 0 ? [`+ ${names(source.added)}`] : []),
    ...(source.changed.length > 0 ? [`~ ${names(source.changed)}`] : []),
    ...(source.removed.length > 0 ? [`- ${names(source.removed)}`] : []),
  ];
  const verb = dryRun ? 'would be ' : '';
  const declared = {
    new: `${verb}declared`,
    changed: `${verb}declared again`,
    unchanged: 'declared as it is',
  };
  return [
    `${pipeline} ${dryRun ? '' : 'is '}${declared[declaration]}; source: ${parts.join('; ') || 'unchanged'}`,
    ...(source.leftOut.length > 0 ? [`  not in the source: ${safe(names(source.leftOut))}`] : []),
    ...fields.map(({ field, values }) => `  ${safe(field)}: ${values.map(shortened).join(' -> ')}`),
  ].join('\n');
}

const shortened = (value: string): string =>
  value.length > 60 ? `${safe(value).slice(0, 60)}…` : safe(value);
