/** Words and amounts, with their basis on hover, and commands that can be copied. */
import { useSignal } from '@preact/signals';
import type { AnchorHTMLAttributes, ComponentChildren } from 'preact';
import { shortName, shortNumber, timeText, whenText } from '../model/format.ts';
import { decidedText, type ModelView } from '../model/lineage.ts';
import { address, deployment, hrefOf, type Query } from '../state/address.ts';

/** @param of how it was computed */
export const Basis = ({ of, children }: Readonly<{ of: string; children: ComponentChildren }>) => (
  <span class="basis" title={of}>
    {children}
  </span>
);

/** The time of day, or the date where it is another day; the whole on hover. */
export const Time = ({ at }: { readonly at: string | number }) => (
  <time dateTime={new Date(at).toISOString()} title={timeText(at)}>
    {whenText(at)}
  </time>
);

/** A link of a row, which the keys j and k reach. */
export const RowLink = ({ name, ...link }: Readonly<{ name: string }> & AnchorHTMLAttributes) => (
  <a class="whole" title={name} data-row {...link}>
    {shortName(name)}
  </a>
);

export const RunLink = ({ runId }: { readonly runId: string }) => (
  <RowLink name={runId} href={hrefOf(['runs', runId])} id={`link-${runId}`} />
);

type LinkButtonProps = Readonly<{ text: string; to: readonly string[]; query?: Query }>;

/** Looks like a button, and leads to another screen. */
export const LinkButton = ({ text, to, query }: LinkButtonProps) => (
  <a class="button" href={hrefOf(to, query)}>
    {text}
  </a>
);

type Metric = Readonly<{ name: string; value: number | null }>;
type ModelLinkProps = Readonly<{ model: Pick<ModelView, 'runId' | 'judged'>; metric?: Metric | undefined }>;

/** Leads to the run of a model. @param metric that its training measured, where it has no scores */
export function ModelLink({ model: { runId, judged }, metric }: ModelLinkProps) {
  const { metric: name = metric?.name, mean: value = metric?.value } = judged ?? {};
  return (
    <>
      <RunLink runId={runId} />
      {typeof value === 'number' && <small>{`${name} ${shortNumber(value)}`}</small>}
    </>
  );
}

/** Who decided and why; the whole reason on hover. */
export const Decided = ({ model }: Readonly<{ model: ModelView }>) => (
  <span class="clip" title={model.reason}>
    {decidedText(model)}
  </span>
);

export const Pill = ({ status }: { readonly status: string }) => (
  <span class={`pill is-${status}`}>{status}</span>
);

export const RunState = ({ runId, status }: Readonly<Record<'runId' | 'status', string>>) => (
  <span class="row">
    <RunLink runId={runId} />
    <Pill status={status} />
  </span>
);

/** A refusal of what the reader has just asked for; undefined: nothing was refused. */
export const RefusalText = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  );

/** The place follows the verb. */
const shellText = (of: string): string =>
  `npx --no-install tidewheel ${of.replace(/(?= |$)/, () => deployment() && ` ${deployment()}`)}`;

/** A command that says the same in a shell, or another text to paste elsewhere. @param of its words after `tidewheel` */
export function Command({ of = '', text = shellText(of) }: Readonly<Partial<Record<'of' | 'text', string>>>) {
  const said = useSignal('copy');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      said.value = 'copied';
    } catch {
      said.value = 'select it, then copy: the browser refuses';
    }
  };
  return (
    <p class="row quiet">
      <code class="raised">{text}</code>
      <button type="button" class="plain" onClick={() => void copy()} aria-label={`copy ${text}`}>
        {said.value}
      </button>
    </p>
  );
}

/** @param items those without a value are left out */
export const Facts = ({ items }: Readonly<{ items: readonly (readonly [string, ComponentChildren])[] }>) => (
  <dl class="facts">
    {items
      .filter(([, value]) => value)
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);

type Tab = readonly [text: string, path: readonly string[], query?: Query];

export function Tabs({ label, tabs }: Readonly<{ label: string; tabs: readonly Tab[] }>) {
  const here = hrefOf(address.value.path);
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(([text, path, query]) => (
        <a key={text} href={hrefOf(path, query)} aria-current={hrefOf(path) === here ? 'page' : undefined}>
          {text}
        </a>
      ))}
    </nav>
  );
}
