/** A batch of a queue's messages: each failure goes back alone. */
import { messageOf } from '@tidewheel/kit/errors.ts';

export interface QueueMessage {
  readonly messageId: string;
  readonly body: string;
}

export interface Taken {
  /** Messages to be delivered again. */
  readonly failed: readonly { readonly messageId: string; readonly reason: string }[];
  readonly notes: readonly string[];
}

export async function takeEach<Message extends QueueMessage>(
  messages: readonly Message[],
  take: (message: Message) => Promise<string | readonly string[]>,
): Promise<Taken> {
  const failed: { messageId: string; reason: string }[] = [];
  const notes: string[] = [];
  for (const message of messages) {
    try {
      notes.push(...[await take(message)].flat());
    } catch (error: unknown) {
      failed.push({ messageId: message.messageId, reason: messageOf(error) });
    }
  }
  return { failed, notes };
}
