/**
 * The words of code and pages: what a native engineer reads at speed. Each entry of the list is a word or construction
 * that this project replaced, with what to write instead.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../../..');
const FOLDERS = [
  'bench',
  'cli',
  'client',
  'docs',
  'emulators',
  'functions',
  'packages',
  'page',
  'serverless',
  'statemachines',
  'test',
  'training',
];
const HERE = path.relative(ROOT, import.meta.filename);
const MOST_WORDS_IN_A_TITLE = 9;

function filesBelow(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory())
      return /^(\.|node_modules$|__pycache__$)/.test(entry.name) ? [] : filesBelow(file);
    return /\.(tsx?|mjs|cjs|py|md)$/.test(entry.name) && file !== HERE ? [file] : [];
  });
}

const texts = ['README.md', ...FOLDERS.flatMap(filesBelow)].map(
  (file) => [file, readFileSync(path.join(ROOT, file), 'utf8')] as const,
);

interface Rule {
  readonly avoid: string;
  /** A space also matches the end of a line, in a comment too. */
  readonly pattern: string;
  readonly write: string;
  /** A file that keeps the word, with the reason beside it. */
  readonly except?: string;
}

const WORD_LIST: readonly Rule[] = [
  { avoid: 'anew', pattern: '\\banew\\b', write: 'again' },
  { avoid: 'of before', pattern: '\\bof before\\b(?!\\))', write: 'earlier, previous' },
  {
    avoid: 'nobody, somebody, whoever',
    pattern: '\\b(nobody|somebody|whoever|whomever)\\b',
    write: 'no process, a user, the caller that: the process or person itself',
  },
  {
    avoid: 'told',
    pattern: '\\b[tT]old([A-Z]\\w*)?\\b|[a-z]Told\\b',
    write: 'reported, said, set, received',
  },
  { avoid: 'tells of', pattern: '\\btells? of\\b', write: 'describes' },
  {
    avoid: 'is asked, are asked',
    pattern: '\\b(is|are|was|were|be|been|being)( not| never| only| also)? asked\\b',
    write: 'we request, it calls: the active voice, or requested',
  },
  { avoid: 'in vain', pattern: '\\bin vain\\b', write: 'without success' },
  {
    avoid: 'to be had',
    pattern: '\\b(to|can|may|could) be had\\b|\\b(is|are|was) had\\b',
    write: 'available',
  },
  { avoid: 'sighting', pattern: '(?<![a-z])[sS]ightings?(?![a-z])', write: 'observation' },
  { avoid: 'encounter', pattern: '(?<![a-z])[eE]ncounters?(?![a-z])', write: 'attempt outcome, meet' },
  {
    avoid: 'riffle, pour',
    pattern: '(?<![a-z])([rR]iffled?|[pP]our(s|ed)?)(?![a-z])',
    write: 'interleave, copy',
  },
  {
    avoid: 'take back',
    pattern: '\\b(takes?|took|taken) back\\b|(?<![a-z])[tT]ake(n?)Back|[a-z]Take(n?)Back',
    write: 'reclaim (AWS takes capacity), recall (we stop an attempt to resubmit it)',
  },
  { avoid: 'onion', pattern: '(?<![a-z])[oO]nion(?![a-z])', write: 'lambda handler, middleware' },
  { avoid: 'hopeless', pattern: '(?<![a-z])[hH]opeless(?![a-z])', write: 'give up, cannot succeed' },
  { avoid: 'blow', pattern: '(?<![a-z])[bB]lows?(?![a-z])', write: 'fault' },
  {
    avoid: 'mend',
    pattern: '(?<![a-z])([uU]n)?[mM]end(s|ed|ing)?(?![a-z])',
    write: 'patch, fix, correct',
    // The measured results come from the text with this verb.
    except: 'training/recipes/lm/make_text.py',
  },
  { avoid: 'doubt', pattern: '(?<![a-z])[dD]oubt(Of|s)?(?![a-z])', write: 'cost of asking' },
  {
    avoid: 'journey, take along, bring back',
    pattern: '(?<![a-z])[jJ]ourney|\\btakeAlong|\\bbringBack',
    write: 'copy: copyInputsTo, copyResultsBack, RegionCopy',
  },
  { avoid: 'Books', pattern: '\\bBooks\\b', write: 'audit' },
  {
    avoid: 'rests, restSeconds',
    pattern: '\\b(rests|rested|resting)\\b(?! on)|\\brestSeconds\\b',
    write: 'cools down, cooldownSeconds; remainingSeconds',
  },
  { avoid: 'births', pattern: '(?<![a-z])[bB]irths?(?![a-z])', write: 'save duration, creation time' },
  { avoid: 'wished', pattern: '\\bwished\\b', write: 'target, wanted' },
  {
    avoid: 'forthwith, thereby, hence, whence, wherein',
    pattern: '\\b(forthwith|thereby|hence|whence|wherein|thereof|thereafter|thither|whereupon)\\b',
    write: 'at once, so, from which, in which',
  },
  { avoid: 'go on with', pattern: '\\b(go|goes|gone|going|went) on with\\b', write: 'continue' },
  {
    avoid: 'a participle first',
    pattern:
      '(?<=[.;!?]\\s|\\n[ \\t]*(?:\\*|//|#)?[ \\t]*)[A-Z][a-z]+(ed|ept|ought)( for| of| to)? (is|are|was|were) ',
    write: 'the subject first',
  },
  {
    avoid: 'a free relative as the subject',
    pattern:
      '(?<=[.;!?]\\s|/\\*\\* |// |\\n \\* |\\n)What (is|was|lies|comes|came|arrives|remains|stays|does|did|cannot|could|must|may|has|had)\\b' +
      '[^.:?`]{2,90}? (is|are|was|were|stays|has|goes|belongs|comes|becomes|counts|fails|does|cannot|must|lies|waits|takes|needs)\\b[^.?]*\\.',
    write: 'a noun: the unread messages, a stored value',
  },
];

/** A sentence may begin with the word. A pattern with a class, such as `[a-z]`, minds the case itself. */
const expressionOf = (pattern: string): RegExp =>
  new RegExp(pattern.replaceAll(' ', String.raw`\s+(?:(?:\*|//|#)\s+)?`), pattern.includes('[') ? 'g' : 'gi');
/** A constant such as `MOST_RETRIES` reads as its words; every character keeps its place. */
const asWords = (text: string): string =>
  text.replaceAll(/\b[A-Z][A-Z0-9_]{3,}\b/g, (name) => name.toLowerCase().replaceAll('_', ' '));
const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

interface Finding {
  readonly file: string;
  readonly says: string;
}

function findingsOf({ avoid, pattern, write, except }: Rule): Finding[] {
  const expression = expressionOf(pattern);
  return texts
    .filter(([file]) => file !== except)
    .flatMap(([file, text]) =>
      [...asWords(text).matchAll(expression)].map(({ index, 0: found }) => {
        const line = lineAt(text, index);
        const written = text.slice(index, index + found.length);
        return { file, says: `${file}:${line}: "${written}" (avoid: ${avoid}); write: ${write}` };
      }),
    );
}

/** A title is the first argument of `it(…)`, or the argument that follows `it.each(…)`. */
const TITLE =
  /\b(?:describe|it|test)(?:\.\w+)*(?:\(|\.each\b[\s\S]*?\)\()\s*(?<quote>['"`])(?<title>(?:\\.|(?!\k<quote>)[\s\S])*?)\k<quote>/g;

function longTitles(): Finding[] {
  return texts
    .filter(([file]) => /^(test|emulators\/tests)\/.*\.ts$/.test(file))
    .flatMap(([file, text]) =>
      [...text.matchAll(TITLE)].flatMap(({ index, groups }) => {
        const words = (groups?.['title'] ?? '').trim().split(/\s+/).length;
        if (words <= MOST_WORDS_IN_A_TITLE) return [];
        const line = lineAt(text, index);
        return [{ file, says: `${file}:${line}: ${words} words: "${groups?.['title'] ?? ''}"` }];
      }),
    );
}

describe('prose', () => {
  const findings = [...WORD_LIST.flatMap(findingsOf), ...longTitles()];

  it('reads code and pages', () => {
    expect(texts.length).toBeGreaterThan(900);
  });

  it('uses none of the words to avoid', () => {
    expect(findings.map(({ says }) => says)).toEqual([]);
  });
});
