/** Who hears of a run: the `notify` part of a declaration. */
import * as z from 'zod';

const NOTICE_KINDS = [
  'finished',
  'failed',
  'stopped',
  'interrupted',
  'stalled',
  'doctor',
  'budget',
  'deadline',
  'model',
] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** The address of a webhook is a credential, so a declaration names a secret instead. */
const secret = z
  .string()
  .regex(
    /^tidewheel\/notify\/[A-Za-z0-9/_+=.@-]{1,400}$/,
    'write the name of a secret in Secrets Manager that begins with tidewheel/notify/',
  );

const CHANNELS = ['topic', 'slack', 'discord', 'webhook'] as const;

const target = z
  .strictObject({
    topic: z
      .string()
      .regex(
        /^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:tidewheel-[A-Za-z0-9_-]{1,246}$/,
        'write the ARN of an SNS topic whose name begins with tidewheel-',
      )
      .optional()
      .describe('An SNS topic, for e-mail, text messages and programs.'),
    slack: secret.optional().describe("A secret that holds the address of Slack's incoming webhook."),
    discord: secret.optional().describe("A secret that holds the address of Discord's webhook."),
    webhook: secret
      .optional()
      .describe('A secret that holds {"url": …, "key": …}: the key signs what is posted there.'),
    on: z
      .array(z.enum(NOTICE_KINDS))
      .min(1)
      .default([...NOTICE_KINDS])
      .describe('What it hears of. Default: everything.'),
    afterInterruptions: z
      .number()
      .int()
      .min(0)
      .max(1_000)
      .default(3)
      .describe('It hears of the first interruption of a run that comes after so many.'),
  })
  .superRefine((fields, context) => {
    const named = CHANNELS.filter((channel) => fields[channel] !== undefined);
    if (named.length === 1) return;
    const message =
      named.length === 0
        ? `names no channel: write one of ${CHANNELS.join(', ')}`
        : `names ${named.join(' and ')}: write an entry for each`;
    context.addIssue({ code: 'custom', message });
  });

export const notifySchema = z.array(target).min(1).max(10);

export type NotifyTarget = z.infer<typeof target>;
