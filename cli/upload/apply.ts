/** Declares a pipeline as its file says, after its code is in the bucket: a run that starts then has both. */
import path from 'node:path';
import type { AnswerOf } from '../../client/operations.ts';
import type { BlobStore } from '../../functions/core/packing/model/blob-store.ts';
import { bucketKeys } from '../../functions/core/shared/keys.ts';
import { type Api, ApiError } from '../command/api.ts';
import type { LocalDeclaration } from '../command/declared.ts';
import { putSource, type SourceChanges } from './source.ts';

export interface Applied {
  readonly pipeline: string;
  readonly declaration: 'new' | 'changed' | 'unchanged';
  readonly source: SourceChanges;
}

interface ApplyOptions {
  readonly api: Api;
  readonly store: BlobStore;
  readonly declaration: LocalDeclaration;
  readonly dryRun: boolean;
}

/** @throws ApiError with every problem of the declaration */
export async function apply({ api, store, declaration, dryRun }: ApplyOptions): Promise<Applied> {
  const { name, text, folder, file, source, data } = declaration;
  const before = await storedDeclaration(api, name);
  const root = path.join(folder, source);
  const omit = [data === undefined ? undefined : path.join(folder, data), file].flatMap((each) =>
    each === undefined ? [] : [path.relative(root, each).split(path.sep).join('/')],
  );
  const changes = await putSource(store, { folder: root, omit, prefix: bucketKeys.source(name), dryRun });
  const isSame = before?.declaration === text && before.valid !== false;
  if (!isSame && !dryRun) await api.call('putPipeline', { name, body: { yaml: text } });
  return {
    pipeline: name,
    declaration: before === undefined ? 'new' : isSame ? 'unchanged' : 'changed',
    source: changes,
  };
}

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

/** In a sentence or two for a person. */
export function appliedText({ pipeline, declaration, source }: Applied, dryRun: boolean): string {
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
  return `${pipeline} ${dryRun ? '' : 'is '}${declared[declaration]}; source: ${parts.join('; ') || 'unchanged'}`;
}
