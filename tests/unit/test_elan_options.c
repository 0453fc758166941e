/* SPDX-License-Identifier: BSD-3-Clause
 * SwitchParameters and --network=.
 */
#include "base/limits.h"
#include "elan/elanvp.h"
#include "elan/options.h"
#include "elan_util.h"

static void defaults_of_the_context_range(void **state)
{
    struct elan_site site;

    assert_int_equal(elan_site_parse(&site, NULL, NULL), 0);
    assert_int_equal(site.base_context, 0x400);
    assert_int_equal(site.top_context, 0x7fe);
    assert_int_equal(site.rails, 1);
    assert_int_equal(site.max_age, 3600);
    assert_string_equal(site.elanhosts, SF_SYSCONFDIR "/elanhosts");
}

static void site_chooses_its_own_range(void **state)
{
    struct elan_site site;

    assert_int_equal(elan_site_parse(&site,
                                     "Base_Context=0x10,top_context=99,rails=2,"
                                     "max_age=60,descent=1,"
                                     "elanhosts=/etc/my hosts",
                                     NULL),
                     0);
    assert_int_equal(site.base_context, 16);
    assert_int_equal(site.top_context, 99);
    assert_int_equal(site.rails, 2);
    assert_int_equal(site.max_age, 60);
    assert_int_equal(site.descent, 1);
    assert_string_equal(site.elanhosts, "/etc/my hosts");
}

static void expect_site_refused(const char *text, const char *error)
{
    struct elan_site site;
    struct errbuf err = {""};

    errno = 0;
    assert_int_equal(elan_site_parse(&site, text, &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_string_equal(err.text, error);
    /* What was good in front of the error is not half kept. */
    assert_int_equal(site.base_context, ELAN_RMS_BASE_CONTEXT_NUM);
    assert_int_equal(site.rails, 1);
}

static void site_errors_name_the_word(void **state)
{
    expect_site_refused("base_context=4000,top_context=4096",
                        "SwitchParameters: top_context: 4096 is not between 0 "
                        "and 4095");
    expect_site_refused("base_context=9,top_context=8",
                        "SwitchParameters: base_context 9 is above "
                        "top_context 8");
    expect_site_refused("rails=2,vnis=1-2",
                        "SwitchParameters: vnis=1-2: no such word; there are: "
                        "base_context, top_context, rails, max_age, descent, "
                        "elanhosts");
    expect_site_refused("rails=2,rails=2",
                        "SwitchParameters: rails: given twice");
    expect_site_refused("rails", "SwitchParameters: rails: wants a value");
    expect_site_refused("rails=", "SwitchParameters: rails: not a number");
    expect_site_refused("rails=-1", "SwitchParameters: rails: not a number");
    expect_site_refused("rails=99999999999999999999",
                        "SwitchParameters: rails: not a number");
    expect_site_refused("rails=9",
                        "SwitchParameters: rails: 9 is not between 1 and 8");
    expect_site_refused("elanhosts=hosts",
                        "SwitchParameters: elanhosts: not an absolute path");
}

static int options(struct elan_options *o, const char *text, struct errbuf *err)
{
    struct elan_site site;

    assert_int_equal(elan_site_parse(&site, "rails=2", NULL), 0);
    errno = 0;
    return elan_options_parse(o, text, &site, err);
}

static void network_words(void **state)
{
    struct elan_options o;

    assert_int_equal(options(&o, NULL, NULL), 0);
    assert_int_equal(o.rails, 2);
    assert_int_equal(o.extra_contexts, 0);
    assert_int_equal(options(&o, "", NULL), 0);
    assert_int_equal(options(&o, "rails=1,contexts=4", NULL), 0);
    assert_int_equal(o.rails, 1);
    assert_int_equal(o.extra_contexts, 4);
}

static void unknown_word_is_refused(void **state)
{
    struct elan_options o;
    struct errbuf err;
    char longer[SF_ELAN_OPTIONS_MAX + 1];

    assert_int_equal(options(&o, "sn_all", &err), -1);
    assert_int_equal(errno, EINVAL);
    assert_string_equal(err.text, "--network: sn_all: no such word; there are: "
                                  "rails, contexts");
    assert_int_equal(options(&o, "rails=3", &err), -1);
    assert_string_equal(err.text, "--network: rails: 3 is not between 1 and 2");
    assert_int_equal(options(&o, "railsx=1", &err), -1);
    assert_int_equal(options(&o, "contexts=4097", &err), -1);
    memset(longer, 'a', sizeof(longer));
    longer[SF_ELAN_OPTIONS_MAX] = '\0';
    assert_int_equal(options(&o, longer, &err), -1);
    assert_string_equal(err.text, "--network: text: too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_of_the_context_range),
        cmocka_unit_test(site_chooses_its_own_range),
        cmocka_unit_test(site_errors_name_the_word),
        cmocka_unit_test(network_words),
        cmocka_unit_test(unknown_word_is_refused),
    };

    return cmocka_run_group_tests_name("elan_options", tests, NULL, NULL);
}
