/** The declaration of a pipeline, as the bucket has it. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { changeDeclaration } from '@tidewheel/declaration/read.ts';
import { type DeploymentRules, onlyAllowed, readAllowedStored } from '../../run/ingest/allowed.ts';
import { invalidStored, noPipeline, type Refusal } from './answers.ts';
import type { ApiDeps } from './operation.ts';

type Deps = Pick<ApiDeps, 'store' | 'allowed' | 'notifiedMarker'>;

export const hasDeclaration = async ({ store }: Deps, name: string): Promise<boolean> =>
  (await store.readText(bucketKeys.pipeline(name))) !== undefined;

export const rulesOf = ({ store: { bucket }, allowed, notifiedMarker }: Deps): DeploymentRules => ({
  allowed,
  bucket,
  notifiedMarker,
});

export async function storedDeclaration(
  deps: Deps,
  name: string,
): Promise<{ readonly pipeline: Pipeline } | Refusal> {
  const stored = await deps.store.readText(bucketKeys.pipeline(name));
  if (stored === undefined) return noPipeline(name);
  const declared = readAllowedStored(rulesOf(deps), name, stored.text);
  return declared.valid ? declared : invalidStored(name, declared.problems);
}

/** As `changeDeclaration`. */
export const changeAllowed = (deps: Deps, ...change: Parameters<typeof changeDeclaration>) =>
  onlyAllowed(rulesOf(deps), changeDeclaration(...change));
