/** Memory and time of the service's functions, as they are deployed. */
import { type FunctionName, functions } from '../../functions/functions.ts';
import type { FunctionDescription } from '../../serverless/describe/function-description.ts';

/** What a description without memoryMegabytes gets. */
const DEFAULT_MEGABYTES = 512;

export function describedAs(name: FunctionName): { memoryMegabytes: number; timeoutSeconds: number } {
  const description: FunctionDescription = functions[name];
  const { memoryMegabytes = DEFAULT_MEGABYTES, timeoutSeconds } = description;
  return { memoryMegabytes, timeoutSeconds };
}
