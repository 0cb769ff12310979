/** Turns a call into a look: an error of AWS becomes the reason why nothing was seen. */
import type { AwsAnswer } from '../../check/finding.ts';
import { awsErrorClass } from '../../records/aws-error-class.ts';
import { describeError } from '../shared/aws-errors.ts';

/** @param action in IAM's words, such as lambda:GetAccountSettings */
export async function look<T>(action: string, call: () => Promise<T>): Promise<AwsAnswer<T>> {
  try {
    return { kind: 'seen', value: await call() };
  } catch (error: unknown) {
    const kind = awsErrorClass(error);
    const isDenied = kind === 'access' || kind === 'credentials';
    return { kind: 'refused', action, isDenied, why: describeError(error) };
  }
}
