/** What each channel is sent. */
import type { NoticeEvent } from './notice-event.ts';
import type { NoticeText } from './notice-text.ts';

/** SNS takes 100 characters of ASCII: https://docs.aws.amazon.com/sns/latest/api/API_Publish.html */
const LONGEST_SUBJECT = 100;
/** https://docs.discord.com/developers/resources/webhook#execute-webhook */
const LONGEST_DISCORD = 2_000;

const whole = ({ title, lines, command }: NoticeText): string => [title, ...lines, '', command].join('\n');

export const topicMessage = (text: NoticeText): { readonly subject: string; readonly message: string } => ({
  subject: text.title.replace(/[^ -~]/g, '?').slice(0, LONGEST_SUBJECT),
  message: whole(text),
});

/**
 * Slack reads `<!channel>` and links in angle brackets:
 * https://docs.slack.dev/messaging/formatting-message-text#escaping
 */
export function slackBody({ title, lines, command }: NoticeText): string {
  const escaped = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return JSON.stringify({ text: [title, ...lines, command].map(escaped).join('\n') });
}

/** Mentions are switched off: a script's words must not call everyone. */
export const discordBody = (text: NoticeText): string =>
  JSON.stringify({ content: whole(text).slice(0, LONGEST_DISCORD), allowed_mentions: { parse: [] } });

/** For programs: the event as on the bus, with the sentences beside it. */
export const webhookBody = (event: NoticeEvent, text: NoticeText): string =>
  JSON.stringify({ type: event['detail-type'], time: event.time, detail: event.detail, ...text });
