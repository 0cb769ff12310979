/** What hosts and containers start from, and what they are allowed to take: images and secrets. */

import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { typesOf } from '@tidewheel/placement/estimate.ts';
import type { MachineImage, TrainingView } from './account-view.ts';
import { type AwsAnswer, type Finding, fails, judged, limited, passed, someOf } from './finding.ts';
import { usesOwnInstances } from './launcher-checks.ts';

type View = Pick<TrainingView, 'machineImage' | 'hasContainerImage' | 'hasSecret'>;

export async function imageFindings(pipeline: Pipeline, view: View): Promise<readonly Finding[]> {
  const { name, compute, training } = pipeline;
  const findings: Finding[] = [];
  if (usesOwnInstances(pipeline) && compute.ec2 !== undefined)
    findings.push(...machineImageFindings(pipeline, await view.machineImage(compute.ec2.image)));
  if (training.image !== undefined)
    findings.push(
      ...existence(`${name}: training.image`, training.image, {
        look: await view.hasContainerImage(training.image),
        remedy: 'push the image to the ECR repository, and name its region, repository and tag',
      }),
    );
  const secret = training.packageIndex?.secret;
  if (secret !== undefined)
    findings.push(
      ...existence(`${name}: training.packageIndex.secret`, secret, {
        look: await view.hasSecret(secret),
        remedy: 'create the secret, and deploy with --param="packageIndexSecret=<its ARN>"',
      }),
    );
  return findings;
}

function existence(
  field: string,
  value: string,
  { look, remedy }: { readonly look: AwsAnswer<boolean>; readonly remedy: string },
): readonly Finding[] {
  const place = { check: 'images and secrets', field };
  return judged(place, look, (exists) =>
    exists ? passed(place, value) : fails(place, { value, message: 'AWS knows no such thing', remedy }),
  );
}

function machineImageFindings(
  { name, compute }: Pipeline,
  look: AwsAnswer<MachineImage | undefined>,
): readonly Finding[] {
  const { image = '', rootDevice = '' } = compute.ec2 ?? {};
  const place = { check: 'images and secrets', field: `${name}: compute.ec2.image` };
  return judged(place, look, (found) => {
    const remedy = 'name an image of this region: aws ec2 describe-images --owners amazon';
    if (found === undefined)
      return fails(place, { value: image, message: 'this region has no such image or parameter', remedy });
    if (found.state !== 'available')
      return fails(place, { value: image, message: `the image is ${found.state}`, remedy });
    const others = typesOf(compute).filter((type) => {
      const arch = instanceFacts(type)?.arch;
      return arch !== undefined && arch !== found.architecture;
    });
    const findings: Finding[] = [];
    if (others.length > 0)
      findings.push(
        fails(place, {
          value: `${image} is for ${found.architecture}`,
          message: `${someOf(others)} cannot start it`,
          remedy: 'declare types of one processor, and an image for it',
        }),
      );
    if (found.rootDevice !== rootDevice)
      findings.push(
        limited(
          { ...place, field: `${name}: compute.ec2.rootDevice` },
          {
            value: rootDevice,
            message: `the image's root device is ${found.rootDevice}: a second volume would be attached, and the root volume would keep the image's size`,
            remedy: `write rootDevice: ${found.rootDevice}`,
          },
        ),
      );
    return findings.length > 0 ? findings : [passed(place, `${found.id}, ${found.architecture}`)];
  });
}
