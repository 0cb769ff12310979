/** Translates SDK errors: a retryable one becomes a TransientError, which the state machine retries. */

import { TransientError } from '@tidewheel/kit/errors.ts';
import { awsErrorClass, isRetryableAwsError } from '../../records/aws-error-class.ts';

/** Only name, message and request id of an SDK error are kept, so that credentials do not reach a log. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const requestId = requestIdOf(error);
  return `${error.name}: ${error.message}${requestId === undefined ? '' : ` (request ${requestId})`}`;
}

/** Whether AWS said it, and not the code of this function. */
export const isAnswer = (error: unknown): boolean =>
  error instanceof Error && '$fault' in error && '$metadata' in error;

/**
 * @param doing the attempted action, such as "describe training job x"
 * @throws TransientError when a retry may succeed, otherwise the error itself
 */
export function rethrow(doing: string, error: unknown): never {
  if (isRetryableAwsError(error)) {
    throw new TransientError(`could not ${doing}: ${awsErrorClass(error)}, ${describeError(error)}`, {
      cause: error,
    });
  }
  throw error;
}

function requestIdOf(error: Error): string | undefined {
  const metadata: unknown = '$metadata' in error ? error.$metadata : undefined;
  const id: unknown =
    typeof metadata === 'object' && metadata !== null && 'requestId' in metadata
      ? metadata.requestId
      : undefined;
  return typeof id === 'string' ? id : undefined;
}

/** What a call gives, or undefined where AWS answers that there is no such thing. */
export async function unlessMissing<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error: unknown) {
    if (awsErrorClass(error) === 'notFound' || isMissing(error)) return undefined;
    throw error;
  }
}

/** EC2's names for an id that cannot be one of its own. */
const MISSING = /^Invalid(?:AMI|Subnet|Group)I[Dd]\.\w+$/;

const isMissing = (error: unknown): boolean => error instanceof Error && MISSING.test(error.name);

/** Creates a resource. That of an earlier try is correct, because the same plan creates the same resource. */
export async function unlessThere(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (awsErrorClass(error) !== 'conflict') throw error;
  }
}
