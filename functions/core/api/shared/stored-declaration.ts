/** The declaration of a pipeline, as the bucket has it. */
import { onlyAllowed, readAllowedDeclaration } from '../../ingest/allowed.ts';
import { changeDeclaration } from '../../pipeline/declaration.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import { bucketKeys } from '../../shared/keys.ts';
import { invalidStored, noPipeline, type Refusal } from './answers.ts';
import type { ApiDeps } from './operation.ts';

type Deps = Pick<ApiDeps, 'store' | 'allowed' | 'notifiedMarker'>;

export const isDeclared = async ({ store }: Deps, name: string): Promise<boolean> =>
  (await store.readText(bucketKeys.pipeline(name))) !== undefined;

export const allowedIn = (deps: Deps, name: string, text: string) =>
  readAllowedDeclaration({ ...deps, bucket: deps.store.bucket }, name, text);

export async function storedDeclaration(
  deps: Deps,
  name: string,
): Promise<{ readonly pipeline: Pipeline } | Refusal> {
  const stored = await deps.store.readText(bucketKeys.pipeline(name));
  if (stored === undefined) return noPipeline(name);
  const declared = allowedIn(deps, name, stored.text);
  return declared.valid ? declared : invalidStored(name, declared.problems);
}

/** As `changeDeclaration`. */
export const changeAllowed = (deps: Deps, ...change: Parameters<typeof changeDeclaration>) =>
  onlyAllowed({ ...deps, bucket: deps.store.bucket }, changeDeclaration(...change));
