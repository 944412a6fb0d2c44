/** The marks of pages, emails and responses of a sandbox. */

/** On every response, webhook and email of a sandbox. */
export const sandboxHeader = 'Largesse-Sandbox';

/** By the languages of emails and pages. */
const notices: Readonly<Record<string, string>> = {
  ar: 'بيئة تجريبية: بطاقات الهدايا هنا ليست لها قيمة.',
  de: 'Testumgebung: Geschenkkarten haben hier keinen Wert.',
  en: 'Sandbox: gift cards here have no value.',
  es: 'Entorno de pruebas: las tarjetas regalo no tienen valor aquí.',
  fr: 'Environnement de test : ici, les cartes cadeaux n’ont aucune valeur.',
  he: 'סביבת בדיקות: לכרטיסי המתנה כאן אין ערך.',
  it: 'Ambiente di prova: qui le carte regalo non hanno valore.',
  ja: 'テスト環境:ここのギフトカードに価値はありません。',
  ko: '테스트 환경: 여기의 기프트 카드는 가치가 없습니다.',
  nl: 'Testomgeving: cadeaubonnen hebben hier geen waarde.',
  pl: 'Środowisko testowe: karty podarunkowe nie mają tu wartości.',
  pt: 'Ambiente de testes: aqui os cartões-presente não têm valor.',
  sv: 'Testmiljö: presentkorten här har inget värde.',
  tr: 'Test ortamı: buradaki hediye kartlarının değeri yoktur.',
  uk: 'Тестове середовище: подарункові картки тут не мають вартості.',
  'zh-Hans': '测试环境:此处的礼品卡没有价值。',
};

/** @param language a BCP 47 tag; one that is not known gets English. */
export function sandboxNotice(language: string): string {
  return notices[language] ?? notices[language.split('-', 1)[0] ?? ''] ?? notices['en'] ?? '';
}
