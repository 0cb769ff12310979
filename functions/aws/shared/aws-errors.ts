/** From an SDK's error to ours: retryable ones become TransientError, which the state machine tries again. */
import { awsErrorClass, isRetryableAwsError } from '../../core/shared/aws-error-class.ts';
import { TransientError } from '../../core/shared/errors.ts';

export { isRetryableAwsError };

/** Credentials must not reach a log: of an SDK error only name, message and request id are passed on. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const requestId = requestIdOf(error);
  return `${error.name}: ${error.message}${requestId === undefined ? '' : ` (request ${requestId})`}`;
}

/**
 * @param doing what was tried, e.g. "describe training job x"
 * @throws TransientError when the same call may succeed later, else the error itself
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
