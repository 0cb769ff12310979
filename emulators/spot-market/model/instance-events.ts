/**
 * The events EC2 sends about a Spot instance that is in danger or about to go. Only instances of the user's own account
 * have them: those behind a SageMaker job belong to SageMaker's.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html
 */
import {
  type EventBridgeClient,
  PutEventsCommand,
  type PutEventsRequestEntry,
} from '@aws-sdk/client-eventbridge';
import { zoneOf } from './offers.ts';

export interface SpotInstance {
  /** Such as i-0123456789abcdef0. */
  readonly instanceId: string;
  readonly zoneId: string;
  /** Twelve digits. */
  readonly accountId: string;
}

/** EC2 names the zone where other services name the region, and no account: that is how its own event looks. */
export function interruptionWarning(
  { instanceId, zoneId }: SpotInstance,
  action: 'terminate' | 'stop' | 'hibernate' = 'terminate',
): PutEventsRequestEntry {
  return {
    Source: 'aws.ec2',
    DetailType: 'EC2 Spot Instance Interruption Warning',
    Resources: [`arn:aws:ec2:${zoneOf(zoneId)?.zoneName ?? zoneId}:instance/${instanceId}`],
    Detail: JSON.stringify({ 'instance-id': instanceId, 'instance-action': action }),
  };
}

/** The end of an instance, by any cause. */
export function instanceEnded({ instanceId, zoneId, accountId }: SpotInstance): PutEventsRequestEntry {
  return {
    Source: 'aws.ec2',
    DetailType: 'EC2 Instance State-change Notification',
    Resources: [`arn:aws:ec2:${zoneOf(zoneId)?.region ?? ''}:${accountId}:instance/${instanceId}`],
    Detail: JSON.stringify({ 'instance-id': instanceId, state: 'terminated' }),
  };
}

/** On the default bus, as EC2's own. AWS refuses this source from customers; the emulator accepts it. */
export async function sendInstanceEvents(
  events: EventBridgeClient,
  entries: readonly PutEventsRequestEntry[],
): Promise<void> {
  const { FailedEntryCount = 0, Entries = [] } = await events.send(
    new PutEventsCommand({ Entries: [...entries] }),
  );
  if (FailedEntryCount === 0) return;
  const reasons = Entries.flatMap((entry) => entry.ErrorMessage ?? []).join('; ');
  throw new Error(`${FailedEntryCount} of ${entries.length} EC2 events were not taken: ${reasons}`);
}
