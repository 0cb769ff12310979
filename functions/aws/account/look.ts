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

/** What a call gives, or undefined where AWS answers that there is no such thing. */
export async function unlessMissing<T>(call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error: unknown) {
    if (awsErrorClass(error) === 'notFound' || isMissing(error)) return undefined;
    throw error;
  }
}

/** IAM, ECR, SSM and EC2 have names of their own for it. */
const MISSING =
  /^(NoSuchEntity(Exception)?|ParameterNotFound|(Repository|Image)NotFoundException|InvalidAMIID\.\w+|InvalidSubnetID\.\w+|InvalidGroup\.NotFound|InvalidGroupId\.Malformed)$/;

const isMissing = (error: unknown): boolean => error instanceof Error && MISSING.test(error.name);
