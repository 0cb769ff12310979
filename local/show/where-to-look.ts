/** What a person needs to reach the region with tools of their own. */
import pc from 'picocolors';
import { environmentFor } from '../region/aws.ts';
import type { Region } from '../region/region.ts';

export function whereToLook({ endpoints, stack }: Region, stateDirectory: string): string[] {
  const exports = Object.entries(environmentFor(endpoints)).map(([name, value]) => `${name}=${value}`);
  return [
    `    S3 and all else  ${endpoints.aws}   bucket ${stack.bucket}`,
    `    SageMaker        ${endpoints.sageMaker}   aws sagemaker list-training-jobs`,
    `    Spot market      ${endpoints.ec2}   aws ec2 get-spot-placement-scores …`,
    `    API              ${stack.apiUrl}   (SigV4; see docs/api.md)`,
    `    watched folder   ${stateDirectory}/drop/digits/<label>/<name>.png`,
    pc.dim(`    for a shell      export ${exports.join(' ')}`),
    '',
  ];
}
