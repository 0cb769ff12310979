/** What a person needs to reach the region with tools of their own. */
import pc from 'picocolors';
import { environmentFor } from '../region/aws.ts';
import type { Region } from '../region/region.ts';

export function whereToLook({ endpoints, stack }: Region, stateDirectory: string): string[] {
  const settings = { ...environmentFor(endpoints), TIDEWHEEL_TABLE: stack.table };
  const exports = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  return [
    `    S3 and all else  ${endpoints.aws}   bucket ${stack.bucket}`,
    `    SageMaker        ${endpoints.sageMaker}   aws sagemaker list-training-jobs`,
    `    Spot market      ${endpoints.ec2}   aws ec2 get-spot-placement-scores …`,
    `    API              ${stack.apiUrl}   (SigV4; see docs/api.md)`,
    `    watched folder   ${stateDirectory}/drop/digits/<label>/<name>.png`,
    `    why there        npm run explain -- RUN_ID   (in a shell with the settings below)`,
    pc.dim(`    for a shell      export ${exports.join(' ')}`),
    '',
  ];
}
