/** The declaration of a run that a person asked for: with the parts that the request was checked with. */

import { InvalidPipelineError } from '@tidewheel/kit/errors.ts';
import { checkDeclaration } from '../pipeline/declaration.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { withParts } from '../pipeline/run-parts.ts';
import type { RunRequest } from '../runs/run-records.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { type Allowed, onlyAllowed } from './allowed.ts';

/**
 * @param declared as it is stored at the close
 * @throws InvalidPipelineError where the rest of the declaration has changed since the request and does not fit its parts
 */
export function requestedDeclaration(
  { allowed, store }: { readonly allowed: Allowed; readonly store: Pick<ObjectStore, 'bucket'> },
  declared: Pipeline,
  request: RunRequest | undefined,
): Pipeline {
  if (request?.parts === undefined) return declared;
  const declaration = onlyAllowed(
    { allowed, bucket: store.bucket },
    checkDeclaration(declared.name, withParts(declared, request.parts)),
  );
  if (!declaration.valid) throw new InvalidPipelineError(declared.name, declaration.problems);
  return declaration.pipeline;
}
