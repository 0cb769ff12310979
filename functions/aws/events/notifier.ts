/** Notices on EventBridge: source `tidewheel`, detail-type the notice's name, detail versioned (docs/events.md). */
import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { TransientError } from '@tidewheel/kit/errors.ts';
import type { Notifier } from '../../core/shared/ports.ts';

const DETAIL_VERSION = 1;

export function eventBridgeNotifier(eventBridge: EventBridgeClient, eventBusName: string): Notifier {
  return {
    notify: async ({ runId, pipeline }, { type, ...notice }) => {
      const detail = { version: DETAIL_VERSION, runId, pipeline, ...notice };
      const { FailedEntryCount, Entries } = await eventBridge.send(
        new PutEventsCommand({
          Entries: [
            {
              EventBusName: eventBusName,
              Source: 'tidewheel',
              DetailType: type,
              Detail: JSON.stringify(detail),
            },
          ],
        }),
      );
      // PutEvents answers 200 even if it accepted nothing.
      if (FailedEntryCount)
        throw new TransientError(`PutEvents refused ${type}: ${Entries?.[0]?.ErrorMessage}`);
    },
  };
}
